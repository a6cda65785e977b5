// nodefony brings no validator and its documentation names none: what a controller is sent is judged by code like this.

const isObject = (value) => value !== null && typeof value === 'object' && !Array.isArray(value);
const isText = (value, pattern) => typeof value === 'string' && pattern.test(value);
const isWhole = (value, min, max) => Number.isInteger(value) && value >= min && value <= max;

function isDate(value) {
  if (!isText(value, /^\d{4}-\d{2}-\d{2}$/)) return false;
  const date = new Date(value);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(value); // the 30th of February becomes March
}

function* wrong({ customer, from, to, currency, lines, nonce }) {
  if (!isObject(customer)) yield 'customer';
  else if (!isText(customer.email, /^[^\s@]+@[^\s@]+\.[^\s@]+$/)) yield 'customer.email';

  if (!isDate(from)) yield 'from';
  if (!isDate(to) || (isDate(from) && to <= from)) yield 'to';
  if (!['EUR', 'USD', 'GBP', 'CZK'].includes(currency)) yield 'currency';
  if (typeof nonce !== 'string' || nonce.length < 1 || nonce.length > 64) yield 'nonce';

  if (!Array.isArray(lines) || lines.length < 1 || lines.length > 20) return yield 'lines';
  for (const [i, line] of lines.entries()) {
    if (!isObject(line)) yield `lines.${i}`;
    else {
      if (!isText(line.sku, /^[A-Z]{3}-[0-9]{4}$/)) yield `lines.${i}.sku`;
      if (!isWhole(line.quantity, 1, 1000)) yield `lines.${i}.quantity`;
      if (!isWhole(line.price, 0, 1_000_000)) yield `lines.${i}.price`;
    }
  }
}

// The paths of all that is wrong, sorted.
exports.orderErrors = (order) => [...wrong(order)].sort();
