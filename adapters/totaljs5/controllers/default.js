const { readFileSync } = require('node:fs');

const items = JSON.parse(readFileSync(PATH.root('data/catalog/items.json'), 'utf8'));
const pageSize = 20;
const upstreamUrl = process.env.UPSTREAM_URL || 'http://127.0.0.1:9000';

exports.install = function () {
  for (const method of ['GET', 'HEAD']) {
    ROUTE(`${method} /`, ok);
    ROUTE(`${method} /hello/{nonce}/`, hello);
    ROUTE(`${method} /catalog/`, catalog);
    ROUTE(`${method} /upstream/{nonce}/`, upstream);
  }
  ROUTE('POST /validate/', validate, 64 * 1024);
  ROUTE('#431', tooLarge);
};

function ok($) {
  $.text('ok');
}

// Total.js leaves the parts of a path encoded.
function hello($) {
  $.json({ hello: decodeURIComponent($.params.nonce) });
}

function catalog($) {
  const { category, max_price, sort, page, nonce } = $.query;
  const maxPrice = positive(max_price);
  const pageNumber = positive(page);
  if (!category || !maxPrice || sort !== 'price' || !pageNumber || !nonce) return $.fallback(400);

  const matches = items
    .filter((item) => item.category === category && item.price <= maxPrice)
    .sort((a, b) => a.price - b.price || a.id - b.id);
  const start = (pageNumber - 1) * pageSize;
  $.json({ total: matches.length, page: pageNumber, items: matches.slice(start, start + pageSize), nonce });
}

// The number that a parameter spells, or nothing.
function positive(text) {
  return /^[1-9]\d*$/.test(text) ? Number(text) : undefined;
}

function validate($) {
  if (!$.body) return $.fallback(400); // empty, or no JSON

  const paths = FUNC.orderErrors($.body);
  if (paths.length) {
    $.response.status = 422;
    return $.json({ errors: paths });
  }
  const { lines, nonce } = $.body;
  $.json({ total: lines.reduce((sum, line) => sum + line.quantity * line.price, 0), nonce });
}

function upstream($) {
  const { nonce } = $.params;
  RESTBuilder.GET(`${upstreamUrl}/item/${nonce}`)
    .keepalive()
    .callback((error, item, { status }) => {
      if (error || status !== 200) {
        $.response.status = 502;
        return $.json({ error: 'upstream' });
      }
      $.json({ nonce: decodeURIComponent(nonce), upstream: item });
    });
}

// Total.js calls a body beyond the route's limit 431.
function tooLarge($) {
  $.response.status = 413;
  $.text('Payload Too Large');
}
