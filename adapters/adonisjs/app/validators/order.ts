import vine from '@vinejs/vine';

const day = () => vine.date({ formats: ['YYYY-MM-DD'] });
const integer = () => vine.number({ strict: true }).withoutDecimals();

export const orderValidator = vine.create({
  customer: vine.object({ email: vine.string().email() }),
  from: day(),
  to: day().afterField('from'),
  currency: vine.enum(['EUR', 'USD', 'GBP', 'CZK']),
  lines: vine
    .array(
      vine.object({
        sku: vine.string().regex(/^[A-Z]{3}-[0-9]{4}$/),
        quantity: integer().range([1, 1000]),
        price: integer().range([0, 1_000_000]),
      }),
    )
    .minLength(1)
    .maxLength(20),
  nonce: vine.string().minLength(1).maxLength(64),
});
