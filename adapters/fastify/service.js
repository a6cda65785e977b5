// The workload `service`, with Fastify's own plugins.
import { randomBytes, randomUUID, timingSafeEqual } from 'node:crypto';
import cors from '@fastify/cors';
import helmet from '@fastify/helmet';

const origins = ['https://shop.example', 'https://admin.example'];
const credentials = Buffer.from('Bearer 5ec7e7-70ken');
const traceparent = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-([0-9a-f]{2})$/;

const string = { type: 'string' };
const schema = {
  response: {
    200: { type: 'object', required: ['service'], properties: { service: string, zone: string } },
    '4xx': { type: 'object', properties: { error: string } },
  },
};

async function identify(request, reply) {
  const [, id, flags] = traceparent.exec(request.headers.traceparent ?? '') ?? [
    '',
    randomBytes(16).toString('hex'),
    '01',
  ];
  reply.header('traceparent', `00-${id}-${randomBytes(8).toString('hex')}-${flags}`);
  reply.header('x-request-id', randomUUID());
}

async function refuseCrossSite(request, reply) {
  const { origin, 'sec-fetch-site': site } = request.headers;
  const strange = origin === undefined ? site === 'cross-site' : !origins.includes(origin);
  if (request.method === 'POST' && strange) return reply.code(403).send({ error: 'forbidden' });
}

async function authenticate(request, reply) {
  const sent = Buffer.from(request.headers.authorization ?? '');
  if (sent.length === credentials.length && timingSafeEqual(sent, credentials)) return;
  return reply.code(401).header('www-authenticate', 'Bearer').send({ error: 'unauthorized' });
}

export async function service(app) {
  app.addHook('onRequest', identify);
  await app.register(helmet, {
    enableCSPNonces: true,
    contentSecurityPolicy: {
      useDefaults: false,
      directives: { defaultSrc: ["'self'"], scriptSrc: ["'self'"] },
    },
    xFrameOptions: { action: 'deny' },
  });
  await app.register(cors, {
    origin: origins,
    methods: ['GET', 'HEAD', 'POST'],
    allowedHeaders: ['Content-Type', 'Authorization'],
  });
  app.addHook('onRequest', refuseCrossSite);

  const hello = async (request) => ({ service: request.params.nonce });
  app.get('/:nonce', { schema }, hello);
  app.post('/:nonce', { schema, bodyLimit: 64 * 1024 }, hello);
  app.get('/private/:nonce', { schema, onRequest: authenticate }, async (request) => ({
    service: request.params.nonce,
    zone: 'private',
  }));
}
