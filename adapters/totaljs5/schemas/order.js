// The lines are not marked as required: Total.js would then blame the list when all its lines are wrong.
const schema = NEWSCHEMA(
  'Order',
  `*customer: {*email:email}
   *from: text
   *to: text
   *currency: {EUR|USD|GBP|CZK}
   lines: [*sku:text, *quantity:number, *price:number]
   *nonce: text(64)`,
);

const isObject = (value) => value !== null && typeof value === 'object' && !Array.isArray(value);
const isDate = (text) => /^\d{4}-\d{2}-\d{2}$/.test(text) && text.parseDate('yyyy-MM-dd').format('yyyy-MM-dd') === text;
const isSku = (text) => /^[A-Z]{3}-[0-9]{4}$/.test(text);
const isWhole = (value, min, max) => Number.isInteger(value) && value >= min && value <= max;

// What the notation above cannot say: it knows no pattern, range, day of the calendar or greatest length of a list. It also
// converts instead of refusing (7 becomes "7", "2" becomes 2) and asks for no object where one is nested.
function* refused({ customer, from, to, lines, nonce }) {
  if (!isObject(customer)) yield 'customer';
  else if (typeof customer.email !== 'string') yield 'customer.email';
  if (!isDate(from)) yield 'from';
  if (!isDate(to) || (isDate(from) && to <= from)) yield 'to';
  if (typeof nonce !== 'string') yield 'nonce';
  if (!Array.isArray(lines) || lines.length < 1 || lines.length > 20) return yield 'lines';
  for (const [i, line] of lines.entries()) {
    if (!isObject(line)) yield `lines.${i}`;
    else {
      if (typeof line.sku !== 'string' || !isSku(line.sku)) yield `lines.${i}.sku`;
      if (!isWhole(line.quantity, 1, 1000)) yield `lines.${i}.quantity`;
      if (!isWhole(line.price, 0, 1_000_000)) yield `lines.${i}.price`;
    }
  }
}

// The paths of all that is wrong; what is itself wrong is named alone, without its parts.
FUNC.orderErrors = function (body) {
  const paths = new Set(refused(body));
  for (const { path } of schema.transform(body).error?.items ?? []) paths.add(path.replace(/\[(\d+)\]/g, '.$1'));
  const isPart = (path) => path.split('.').some((_, i, names) => i > 0 && paths.has(names.slice(0, i).join('.')));
  return [...paths].filter((path) => !isPart(path)).sort();
};
