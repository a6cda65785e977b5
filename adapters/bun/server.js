// Bun's own server and router.
import { catalog } from './catalog.js';
import { upstream } from './upstream.js';
import { validate } from './validate.js';

// Bun would name this type by itself, but not for HEAD.
const text = { headers: { 'Content-Type': 'text/plain;charset=utf-8' } };

const hello = ({ params }) => Response.json({ hello: params.nonce });

Bun.serve({
  hostname: '0.0.0.0',
  port: 8080,
  maxRequestBodySize: 64 * 1024,
  routes: {
    '/': { GET: () => new Response('ok', text) },
    '/hello/:nonce': { GET: hello },
    '/catalog': { GET: catalog },
    '/validate': { POST: validate },
    '/upstream/:nonce': { GET: upstream },
  },
  fetch: () => new Response('Not Found', { status: 404 }),
});

// The first process of a container gets no default action for a signal.
process.on('SIGTERM', () => process.exit());
