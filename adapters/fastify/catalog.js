import { readFileSync } from 'node:fs';

const items = JSON.parse(readFileSync('data/catalog/items.json', 'utf8'));
const pageSize = 20;

const string = { type: 'string' };
const integer = { type: 'integer' };
const positive = { type: 'integer', minimum: 1 };
const item = {
  type: 'object',
  properties: {
    id: integer,
    sku: string,
    name: string,
    category: string,
    price: integer,
    stock: integer,
    rating: integer,
    description: string,
  },
};

const schema = {
  querystring: {
    type: 'object',
    required: ['category', 'max_price', 'page', 'nonce'],
    properties: {
      category: string,
      max_price: positive,
      sort: { type: 'string', enum: ['price'], default: 'price' },
      page: positive,
      nonce: string,
    },
  },
  response: {
    200: {
      type: 'object',
      required: ['total', 'page', 'items', 'nonce'],
      properties: { total: integer, page: integer, items: { type: 'array', items: item }, nonce: string },
    },
  },
};

export async function catalog(app) {
  app.get('/catalog', { schema }, async (request) => {
    const { category, max_price, page, nonce } = request.query;
    const found = items
      .filter((item) => item.category === category && item.price <= max_price)
      .sort((a, b) => a.price - b.price || a.id - b.id);
    return { total: found.length, page, items: found.slice((page - 1) * pageSize, page * pageSize), nonce };
  });
}
