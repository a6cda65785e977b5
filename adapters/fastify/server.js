import Fastify from 'fastify';
import { catalog } from './catalog.js';
import { service } from './service.js';
import { upstream } from './upstream.js';
import { validate } from './validate.js';

// Ajv stops at the first mistake by default; `validate` names them all, over bounded lists.
const app = Fastify({ logger: false, ajv: { customOptions: { allErrors: true } } });

app.get('/', async () => 'ok'); // a string is sent as text/plain

// With the response's schema Fastify compiles a serializer: its documented way to write JSON.
const helloSchema = {
  response: {
    200: { type: 'object', required: ['hello'], properties: { hello: { type: 'string' } } },
  },
};

app.get('/hello/:nonce', { schema: helloSchema }, async (request) => ({ hello: request.params.nonce }));

app.register(catalog);
app.register(validate);
app.register(upstream);
app.register(service, { prefix: '/service' });

await app.listen({ host: '0.0.0.0', port: 8080 });

// The first process of a container gets no default action for a signal.
process.on('SIGTERM', () => process.exit());
