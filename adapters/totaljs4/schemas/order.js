const sku = /^[A-Z]{3}-[0-9]{4}$/;
const isDate = (text) => /^\d{4}-\d{2}-\d{2}$/.test(text) && text.parseDate('yyyy-MM-dd').format('yyyy-MM-dd') === text;
const whole = (min, max) => (value) => Number.isInteger(value) && value >= min && value <= max;

NEWSCHEMA('Customer', (schema) => {
  schema.define('email', 'Email', true);
});

NEWSCHEMA('Line', (schema) => {
  schema.trim = false; // or " ABC-1234" would do
  schema.define('sku', 'String', (value) => sku.test(value));
  schema.define('quantity', 'Number2', whole(1, 1000));
  schema.define('price', 'Number2', whole(0, 1_000_000));
});

NEWSCHEMA('Order', (schema) => {
  schema.trim = false; // the nonce comes back as it was sent
  schema.define('customer', 'Customer', true);
  schema.define('from', 'String', isDate);
  schema.define('to', 'String', (to, { from }) => isDate(to) && !(isDate(from) && to <= from));
  schema.define('currency', ['EUR', 'USD', 'GBP', 'CZK'], true);
  schema.define('lines', '[Line]', true);
  schema.define('nonce', 'String', (value) => value.length >= 1 && value.length <= 64);
});

const isObject = (value) => value !== null && typeof value === 'object' && !Array.isArray(value);

// Total.js converts instead of refusing: 7 becomes "7", "2" becomes 2, and a string in the place of an object becomes an
// object without values. A list has no greatest length. Both are judged here, by what arrived.
function* refused({ customer, from, to, lines, nonce }) {
  if (!isObject(customer)) yield 'customer';
  else if (typeof customer.email !== 'string') yield 'customer.email';
  if (typeof from !== 'string') yield 'from';
  if (typeof to !== 'string') yield 'to';
  if (typeof nonce !== 'string') yield 'nonce';
  if (!Array.isArray(lines) || lines.length > 20) return yield 'lines';
  for (const [i, line] of lines.entries()) {
    if (!isObject(line)) yield `lines.${i}`;
    else {
      if (typeof line.sku !== 'string') yield `lines.${i}.sku`;
      if (typeof line.quantity !== 'number') yield `lines.${i}.quantity`;
      if (typeof line.price !== 'number') yield `lines.${i}.price`;
    }
  }
}

// The paths of all that is wrong; what is itself wrong is named alone, without its parts.
FUNC.orderErrors = function (body, error) {
  const paths = new Set(refused(body));
  for (const { path } of error?.items ?? []) paths.add(path.replace(/\[(\d+)\]/g, '.$1'));
  const isPart = (path) => path.split('.').some((_, i, names) => i > 0 && paths.has(names.slice(0, i).join('.')));
  return [...paths].filter((path) => !isPart(path)).sort();
};
