import { z } from 'zod';

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

export async function validate(request) {
  let value;
  try {
    value = await request.json();
  } catch {
    return new Response('Bad Request', { status: 400 });
  }
  const { success, data, error } = order.safeParse(value);
  if (!success) {
    const errors = [...new Set(error.issues.map(({ path }) => path.join('.')))].sort();
    return Response.json({ errors }, { status: 422 });
  }
  const total = data.lines.reduce((sum, { quantity, price }) => sum + quantity * price, 0);
  return Response.json({ total, nonce: data.nonce });
}
