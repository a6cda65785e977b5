// The workload `service`, with the middleware that Express's users take.
import { randomBytes, randomUUID, timingSafeEqual } from 'node:crypto';
import cors from 'cors';
import express, { Router } from 'express';
import helmet from 'helmet';

const origins = ['https://shop.example', 'https://admin.example'];
const credentials = Buffer.from('Bearer 5ec7e7-70ken');
const traceparent = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-([0-9a-f]{2})$/;

function identify(request, response, next) {
  response.locals.cspNonce = randomBytes(16).toString('base64');
  response.set('X-Request-Id', randomUUID());
  next();
}

function trace(request, response, next) {
  const [, id, flags] = traceparent.exec(request.get('traceparent') ?? '') ?? [
    '',
    randomBytes(16).toString('hex'),
    '01',
  ];
  response.set('traceparent', `00-${id}-${randomBytes(8).toString('hex')}-${flags}`);
  next();
}

function refuseCrossSite(request, response, next) {
  const origin = request.get('origin');
  const strange = origin === undefined ? request.get('sec-fetch-site') === 'cross-site' : !origins.includes(origin);
  if (request.method === 'POST' && strange) return response.status(403).json({ error: 'forbidden' });
  next();
}

function authenticate(request, response, next) {
  const sent = Buffer.from(request.get('authorization') ?? '');
  if (sent.length === credentials.length && timingSafeEqual(sent, credentials)) return next();
  response.set('WWW-Authenticate', 'Bearer').status(401).json({ error: 'unauthorized' });
}

export const service = Router();

service.use(
  identify,
  helmet({
    contentSecurityPolicy: {
      useDefaults: false,
      directives: {
        defaultSrc: ["'self'"],
        scriptSrc: ["'self'", (request, response) => `'nonce-${response.locals.cspNonce}'`],
      },
    },
    xFrameOptions: { action: 'deny' },
  }),
  trace,
  cors({ origin: origins, methods: ['GET', 'HEAD', 'POST'], allowedHeaders: ['Content-Type', 'Authorization'] }),
  refuseCrossSite,
);

service.get('/private/:nonce', authenticate, (request, response) => {
  response.json({ service: request.params.nonce, zone: 'private' });
});

service.get('/:nonce', (request, response) => {
  response.json({ service: request.params.nonce });
});

service.post('/:nonce', express.json({ limit: '64kb' }), (request, response) => {
  response.json({ service: request.params.nonce });
});
