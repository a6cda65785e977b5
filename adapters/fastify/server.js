import Fastify from 'fastify';

const app = Fastify({ logger: false });

app.get('/', async () => 'ok'); // a string is sent as text/plain

// With the response's schema Fastify compiles a serializer: its documented way to write JSON.
const helloSchema = {
  response: {
    200: { type: 'object', required: ['hello'], properties: { hello: { type: 'string' } } },
  },
};

app.get('/hello/:nonce', { schema: helloSchema }, async (request) => ({ hello: request.params.nonce }));

await app.listen({ host: '0.0.0.0', port: 8080 });

// The first process of a container gets no default action for a signal.
process.on('SIGTERM', () => process.exit());
