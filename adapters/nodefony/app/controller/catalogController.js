const { readFileSync } = require('node:fs');

const items = JSON.parse(readFileSync('data/catalog/items.json', 'utf8'));
const pageSize = 20;

// The number that a parameter spells, or nothing.
const positive = (text) => (/^[1-9]\d*$/.test(text) ? Number(text) : undefined);

module.exports = class catalogController extends nodefony.Controller {
  listAction() {
    const { category, max_price, sort, page, nonce } = this.queryGet;
    const maxPrice = positive(max_price);
    const pageNumber = positive(page);
    if (!category || !maxPrice || sort !== 'price' || !pageNumber || !nonce) {
      return this.renderJson({ error: 'bad request' }, 400);
    }
    const matches = items
      .filter((item) => item.category === category && item.price <= maxPrice)
      .sort((a, b) => a.price - b.price || a.id - b.id);
    const start = (pageNumber - 1) * pageSize;
    return this.renderJson({ total: matches.length, page: pageNumber, items: matches.slice(start, start + pageSize), nonce });
  }
};
