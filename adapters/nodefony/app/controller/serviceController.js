// The workload `service` in plain code: nodefony's own firewall and CORS come with its security bundle, whose bcrypt has to be
// compiled or downloaded by an install script.
const { randomBytes, randomUUID, timingSafeEqual } = require('node:crypto');

const origins = ['https://shop.example', 'https://admin.example'];
const credentials = Buffer.from('Bearer 5ec7e7-70ken');
const traceparent = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-([0-9a-f]{2})$/;

function trace(received) {
  const [, id, flags] = traceparent.exec(received) ?? ['', randomBytes(16).toString('hex'), '01'];
  return `00-${id}-${randomBytes(8).toString('hex')}-${flags}`;
}

function isAuthorized(received = '') {
  const sent = Buffer.from(received);
  return sent.length === credentials.length && timingSafeEqual(sent, credentials);
}

module.exports = class serviceController extends nodefony.Controller {
  constructor(container, context) {
    super(container, context);
    const { origin, traceparent: received } = this.request.headers;
    this.response.setHeaders({
      'Content-Security-Policy': `default-src 'self'; script-src 'self' 'nonce-${randomBytes(16).toString('base64')}'`,
      'Referrer-Policy': 'no-referrer',
      'X-Content-Type-Options': 'nosniff',
      'X-Frame-Options': 'DENY',
      'X-Request-Id': randomUUID(),
      traceparent: trace(received),
      Vary: 'Origin',
    });
    if (origins.includes(origin)) this.response.setHeader('Access-Control-Allow-Origin', origin);
  }

  showAction(nonce) {
    return this.renderJson({ service: nonce });
  }

  postAction(nonce) {
    const { origin, 'sec-fetch-site': site } = this.request.headers;
    const strange = origin === undefined ? site === 'cross-site' : !origins.includes(origin);
    if (strange) return this.renderJson({ error: 'forbidden' }, 403);

    try {
      JSON.parse(this.request.data);
    } catch {
      return this.renderJson({ error: 'bad request' }, 400);
    }
    return this.renderJson({ service: nonce });
  }

  zoneAction(nonce) {
    if (isAuthorized(this.request.headers.authorization)) return this.renderJson({ service: nonce, zone: 'private' });
    return this.renderJson({ error: 'unauthorized' }, 401, { 'WWW-Authenticate': 'Bearer' });
  }

  preflightAction() {
    return this.renderResponse('', 204, {
      'Access-Control-Allow-Methods': 'GET,HEAD,POST',
      'Access-Control-Allow-Headers': 'Content-Type,Authorization',
    });
  }
};
