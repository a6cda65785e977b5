// The workload `service`: what middleware does elsewhere, in the order in which it would.
import { randomBytes, randomUUID, timingSafeEqual } from 'node:crypto';
import { readBody } from './body.js';
import { badRequest, json, notFound, text } from './reply.js';

const origins = new Set(['https://shop.example', 'https://admin.example']);
const credentials = Buffer.from('Bearer 5ec7e7-70ken');
const traceparent = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-([0-9a-f]{2})$/;

function secure(response) {
  const nonce = randomBytes(16).toString('base64');
  response.setHeader('Content-Security-Policy', `default-src 'self'; script-src 'self' 'nonce-${nonce}'`);
  response.setHeader('Referrer-Policy', 'no-referrer');
  response.setHeader('X-Content-Type-Options', 'nosniff');
  response.setHeader('X-Frame-Options', 'DENY');
  response.setHeader('X-Request-Id', randomUUID());
}

function trace(request, response) {
  const [, id, flags] = traceparent.exec(request.headers.traceparent ?? '') ?? [
    '',
    randomBytes(16).toString('hex'),
    '01',
  ];
  response.setHeader('traceparent', `00-${id}-${randomBytes(8).toString('hex')}-${flags}`);
}

function isAllowed(authorization = '') {
  const sent = Buffer.from(authorization);
  return sent.length === credentials.length && timingSafeEqual(sent, credentials);
}

function isCrossSite({ origin, 'sec-fetch-site': site }) {
  return origin === undefined ? site === 'cross-site' : !origins.has(origin);
}

export async function service(request, response, segment) {
  const { method, headers } = request;
  secure(response);
  trace(request, response);
  response.setHeader('Vary', 'Origin');
  if (origins.has(headers.origin)) response.setHeader('Access-Control-Allow-Origin', headers.origin);
  if (method === 'OPTIONS' && headers['access-control-request-method']) {
    response.setHeader('Access-Control-Allow-Methods', 'GET, HEAD, POST');
    response.setHeader('Access-Control-Allow-Headers', 'Content-Type, Authorization');
    return text(204, '');
  }
  const get = method === 'GET' || method === 'HEAD';
  if (method === 'POST' && isCrossSite(headers)) return json(403, { error: 'forbidden' });
  const secret = segment('/service/private/');
  if (secret !== undefined && get) {
    if (isAllowed(headers.authorization)) return json(200, { service: secret, zone: 'private' });
    response.setHeader('WWW-Authenticate', 'Bearer');
    return json(401, { error: 'unauthorized' });
  }
  const open = segment('/service/');
  if (open === undefined || !(get || method === 'POST')) return notFound;
  if (method === 'POST') {
    const { refused, body } = await readBody(request);
    if (refused) return text(refused, 'Refused');
    try {
      JSON.parse(body);
    } catch {
      return badRequest;
    }
  }
  return json(200, { service: open });
}
