import { z } from 'zod';
import { badRequest, json } from './reply.js';

const day = z.iso.date();
const isDay = (value) => day.safeParse(value).success;

const order = z
  .object({
    customer: z.object({ email: z.email() }),
    from: day,
    to: day,
    currency: z.enum(['EUR', 'USD', 'GBP', 'CZK']),
    lines: z
      .array(
        z.object({
          sku: z.string().regex(/^[A-Z]{3}-[0-9]{4}$/),
          quantity: z.int().min(1).max(1000),
          price: z.int().min(0).max(1000000),
        }),
      )
      .min(1)
      .max(20),
    nonce: z.string().min(1).max(64),
  })
  .refine(({ from, to }) => to > from, {
    path: ['to'],
    // Judged beside other mistakes too, where there are two days to compare.
    when: ({ value }) => isDay(value.from) && isDay(value.to),
  });

export function validate(body) {
  let value;
  try {
    value = JSON.parse(body);
  } catch {
    return badRequest;
  }
  const { success, data, error } = order.safeParse(value);
  if (!success) {
    const errors = [...new Set(error.issues.map(({ path }) => path.join('.')))].sort();
    return json(422, { errors });
  }
  const total = data.lines.reduce((sum, { quantity, price }) => sum + quantity * price, 0);
  return json(200, { total, nonce: data.nonce });
}
