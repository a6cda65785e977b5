import vine from '@vinejs/vine';

const positive = () => vine.number().withoutDecimals().positive().min(1);

export const catalogValidator = vine.create({
  category: vine.string(),
  max_price: positive(),
  sort: vine.literal('price'),
  page: positive(),
  nonce: vine.string(),
});
