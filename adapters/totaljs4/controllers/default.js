const { readFileSync } = require('node:fs');

const items = JSON.parse(readFileSync(PATH.root('data/catalog/items.json'), 'utf8'));
const pageSize = 20;
// 64 KiB: the argument is documented in KiB, but total4 multiplies by 1024 once too often.
const bodyLimit = 64 / 1024;
const upstreamUrl = process.env.UPSTREAM_URL || 'http://127.0.0.1:9000';

exports.install = function () {
  for (const method of ['GET', 'HEAD']) {
    ROUTE(`${method} /`, ok);
    ROUTE(`${method} /hello/{nonce}/`, hello);
    ROUTE(`${method} /catalog/`, catalog);
    ROUTE(`${method} /upstream/{nonce}/`, upstream);
  }
  ROUTE('POST /validate/', validate, ['json'], bodyLimit);
  ROUTE('#431', tooLarge);
};

function ok() {
  this.plain('ok');
}

// Total.js leaves the parts of a path encoded.
function hello(nonce) {
  this.json({ hello: decodeURIComponent(nonce) });
}

function catalog() {
  const { category, max_price, sort, page, nonce } = this.query;
  const maxPrice = positive(max_price);
  const pageNumber = positive(page);
  if (!category || !maxPrice || sort !== 'price' || !pageNumber || !nonce) return this.throw400();

  const matches = items
    .filter((item) => item.category === category && item.price <= maxPrice)
    .sort((a, b) => a.price - b.price || a.id - b.id);
  const start = (pageNumber - 1) * pageSize;
  this.json({ total: matches.length, page: pageNumber, items: matches.slice(start, start + pageSize), nonce });
}

// The number that a parameter spells, or nothing.
function positive(text) {
  return /^[1-9]\d*$/.test(text) ? Number(text) : undefined;
}

function validate() {
  const { body } = this;
  if (!body || body === EMPTYOBJECT) return this.throw400(); // empty, or no JSON

  GETSCHEMA('Order').make(body, (error, order) => {
    const paths = FUNC.orderErrors(body, error);
    if (paths.length) {
      this.status = 422;
      return this.json({ errors: paths });
    }
    this.json({ total: order.lines.reduce((sum, line) => sum + line.quantity * line.price, 0), nonce: order.nonce });
  });
}

function upstream(nonce) {
  RESTBuilder.GET(`${upstreamUrl}/item/${nonce}`)
    .keepalive()
    .callback((error, item, { status }) => {
      if (error || status !== 200) {
        this.status = 502;
        return this.json({ error: 'upstream' });
      }
      this.json({ nonce: decodeURIComponent(nonce), upstream: item });
    });
}

// Total.js calls a body beyond the route's limit 431.
function tooLarge() {
  this.status = 413;
  this.plain('Payload Too Large');
}
