// What node:http costs with nothing on top of it: the reference for the Node frameworks.
import { createServer } from 'node:http';

const text = (body) => ({ status: 200, type: 'text/plain', body });
const json = (value) => ({ status: 200, type: 'application/json', body: JSON.stringify(value) });
const notFound = { status: 404, type: 'text/plain', body: 'Not Found' };
const badRequest = { status: 400, type: 'text/plain', body: 'Bad Request' };

const hello = '/hello/';

function route(path) {
  if (path === '/') return text('ok');
  if (path.startsWith(hello)) {
    const segment = path.slice(hello.length);
    if (segment !== '' && !segment.includes('/')) {
      try {
        return json({ hello: decodeURIComponent(segment) });
      } catch {
        return badRequest; // a percent sign that encodes nothing
      }
    }
  }
  return notFound;
}

function answer(request, response) {
  const query = request.url.indexOf('?');
  const path = query === -1 ? request.url : request.url.slice(0, query);
  const wanted = request.method === 'GET' || request.method === 'HEAD';
  const { status, type, body } = wanted ? route(path) : notFound;
  // With the length said, Node does not fall back to chunks; for HEAD it drops the body and keeps the headers.
  response.writeHead(status, { 'Content-Type': type, 'Content-Length': Buffer.byteLength(body) });
  response.end(body);
}

createServer(answer).listen({ host: '0.0.0.0', port: 8080 });

// The first process of a container gets no default action for a signal.
process.on('SIGTERM', () => process.exit());
