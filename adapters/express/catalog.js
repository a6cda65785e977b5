import { readFileSync } from 'node:fs';
import { Router } from 'express';
import { z } from 'zod';

const items = JSON.parse(readFileSync('data/catalog/items.json', 'utf8'));
const pageSize = 20;

const positive = z
  .string()
  .regex(/^[1-9][0-9]*$/)
  .transform(Number);
const query = z.object({
  category: z.string(),
  max_price: positive,
  sort: z.literal('price').default('price'),
  page: positive,
  nonce: z.string(),
});

export const catalog = Router();

catalog.get('/catalog', (request, response) => {
  const asked = query.safeParse(request.query);
  if (!asked.success) return response.sendStatus(400);
  const { category, max_price, page, nonce } = asked.data;
  const found = items
    .filter((item) => item.category === category && item.price <= max_price)
    .sort((a, b) => a.price - b.price || a.id - b.id);
  const shown = found.slice((page - 1) * pageSize, page * pageSize);
  response.json({ total: found.length, page, items: shown, nonce });
});
