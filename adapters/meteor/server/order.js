import SimpleSchema from 'simpl-schema';

const { BAD_DATE, KEY_NOT_IN_SCHEMA, MIN_DATE } = SimpleSchema.ErrorTypes;

function isDate(text) {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return false;
  const date = new Date(text);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text); // the 30th of February becomes March
}

const Order = new SimpleSchema({
  customer: new SimpleSchema({ email: { type: String, regEx: /^[^\s@]+@[^\s@]+\.[^\s@]+$/ } }),
  from: {
    type: String,
    custom() {
      return isDate(this.value) ? undefined : BAD_DATE;
    },
  },
  to: {
    type: String,
    custom() {
      const from = this.field('from').value;
      if (!isDate(this.value)) return BAD_DATE;
      return isDate(from) && this.value <= from ? MIN_DATE : undefined;
    },
  },
  currency: { type: String, allowedValues: ['EUR', 'USD', 'GBP', 'CZK'] },
  lines: { type: Array, minCount: 1, maxCount: 20 },
  'lines.$': new SimpleSchema({
    sku: { type: String, regEx: /^[A-Z]{3}-[0-9]{4}$/ },
    quantity: { type: SimpleSchema.Integer, min: 1, max: 1000 },
    price: { type: SimpleSchema.Integer, min: 0, max: 1_000_000 },
  }),
  nonce: { type: String, min: 1, max: 64 },
});

// The paths of all that is wrong, sorted; what is itself wrong is named alone, without its parts.
export function orderErrors(order) {
  const context = Order.newContext();
  context.validate(order, { ignore: [KEY_NOT_IN_SCHEMA] });
  const paths = new Set(context.validationErrors().map(({ name }) => name));
  const isPart = (path) => path.split('.').some((_, i, names) => i > 0 && paths.has(names.slice(0, i).join('.')));
  return [...paths].filter((path) => !isPart(path)).sort();
}
