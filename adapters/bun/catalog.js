import { z } from 'zod';

const items = await Bun.file('data/catalog/items.json').json();
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

export function catalog({ url }) {
  const asked = query.safeParse(Object.fromEntries(new URL(url).searchParams));
  if (!asked.success) return new Response('Bad Request', { status: 400 });
  const { category, max_price, page, nonce } = asked.data;
  const found = items
    .filter((item) => item.category === category && item.price <= max_price)
    .sort((a, b) => a.price - b.price || a.id - b.id);
  const shown = found.slice((page - 1) * pageSize, page * pageSize);
  return Response.json({ total: found.length, page, items: shown, nonce });
}
