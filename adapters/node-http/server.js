// What node:http costs with nothing on top of it: the reference for the Node frameworks.
import { createServer } from 'node:http';
import { readBody } from './body.js';
import { catalog } from './catalog.js';
import { burdened } from './extra.js';
import { badRequest, json, notFound, text } from './reply.js';
import { service } from './service.js';
import { upstream } from './upstream.js';
import { validate } from './validate.js';

/** The segment behind a prefix, decoded; undefined where there is not exactly one. */
function segment(path, prefix) {
  if (!path.startsWith(prefix)) return undefined;
  const rest = path.slice(prefix.length);
  return rest === '' || rest.includes('/') ? undefined : decodeURIComponent(rest);
}

async function route(request, response, path, query) {
  const { method } = request;
  const get = method === 'GET' || method === 'HEAD';
  if (path.startsWith('/service/')) return service(request, response, (prefix) => segment(path, prefix));
  if (path === '/validate' && method === 'POST') {
    const { refused, body } = await readBody(request);
    return refused ? text(refused, 'Refused') : validate(body);
  }
  if (!get) return notFound;
  if (path === '/') return text(200, 'ok');
  if (path === '/catalog') return catalog(new URLSearchParams(query));
  const hello = segment(path, '/hello/');
  if (hello !== undefined) return json(200, { hello });
  const item = segment(path, '/upstream/');
  if (item !== undefined) return upstream(item);
  return notFound;
}

async function answer(request, response) {
  const question = request.url.indexOf('?');
  const path = question === -1 ? request.url : request.url.slice(0, question);
  const query = question === -1 ? '' : request.url.slice(question + 1);
  let reply;
  try {
    reply = await route(request, response, path, query);
  } catch (error) {
    // A percent sign that encodes nothing is the client's mistake, anything else ours.
    reply = error instanceof URIError ? badRequest : text(500, 'Internal Server Error');
  }
  const { status, type, body } = reply;
  // With the length said, Node does not fall back to chunks; for HEAD it drops the body and keeps the headers.
  const headers = status === 204 ? {} : { 'Content-Type': type, 'Content-Length': Buffer.byteLength(body) };
  response.writeHead(status, headers);
  response.end(body);
}

createServer(burdened(answer)).listen({ host: '0.0.0.0', port: 8080 });

// The first process of a container gets no default action for a signal.
process.on('SIGTERM', () => process.exit());
