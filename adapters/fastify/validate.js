const day = { type: 'string', format: 'date' };

const schema = {
  body: {
    type: 'object',
    required: ['customer', 'from', 'to', 'currency', 'lines', 'nonce'],
    properties: {
      customer: {
        type: 'object',
        required: ['email'],
        properties: { email: { type: 'string', format: 'email' } },
      },
      from: day,
      to: day,
      currency: { type: 'string', enum: ['EUR', 'USD', 'GBP', 'CZK'] },
      lines: {
        type: 'array',
        minItems: 1,
        maxItems: 20,
        items: {
          type: 'object',
          required: ['sku', 'quantity', 'price'],
          properties: {
            sku: { type: 'string', pattern: '^[A-Z]{3}-[0-9]{4}$' },
            quantity: { type: 'integer', minimum: 1, maximum: 1000 },
            price: { type: 'integer', minimum: 0, maximum: 1000000 },
          },
        },
      },
      nonce: { type: 'string', minLength: 1, maxLength: 64 },
    },
  },
  response: {
    200: {
      type: 'object',
      required: ['total', 'nonce'],
      properties: { total: { type: 'integer' }, nonce: { type: 'string' } },
    },
    422: {
      type: 'object',
      required: ['errors'],
      properties: { errors: { type: 'array', items: { type: 'string' } } },
    },
  },
};

/** Where Ajv found a mistake; what is missing fails at its own path. */
function pathOf({ instancePath, params }) {
  const path = instancePath.split('/').slice(1);
  if (params.missingProperty !== undefined) path.push(params.missingProperty);
  return path.join('.');
}

export async function validate(app) {
  app.post('/validate', { schema, attachValidation: true, bodyLimit: 64 * 1024 }, async (request, reply) => {
    const errors = new Set(request.validationError?.validation.map(pathOf));
    const { from, to, lines, nonce } = request.body ?? {};
    // The rule over two fields, where there are two days to compare.
    if (!errors.has('from') && !errors.has('to') && to <= from) errors.add('to');
    if (errors.size > 0) {
      reply.code(422);
      return { errors: [...errors].sort() };
    }
    return { total: lines.reduce((sum, { quantity, price }) => sum + quantity * price, 0), nonce };
  });
}
