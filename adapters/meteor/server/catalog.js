import SimpleSchema from 'simpl-schema';

const items = JSON.parse(await Assets.getTextAsync('catalog/items.json')); // from private/
const pageSize = 20;

const Query = new SimpleSchema({
  category: String,
  max_price: { type: SimpleSchema.Integer, min: 1 },
  sort: { type: String, allowedValues: ['price'] },
  page: { type: SimpleSchema.Integer, min: 1 },
  nonce: String,
});

// The page that a query asks for, or nothing if it asks for none.
export function catalog(query) {
  const asked = Query.clean({ ...query }, { trimStrings: false });
  if (!Query.newContext().validate(asked)) return undefined;

  const { category, max_price, page, nonce } = asked;
  const matches = items
    .filter((item) => item.category === category && item.price <= max_price)
    .sort((a, b) => a.price - b.price || a.id - b.id);
  const start = (page - 1) * pageSize;
  return { total: matches.length, page, items: matches.slice(start, start + pageSize), nonce };
}
