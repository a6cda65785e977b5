import { Pool } from 'undici';

const pool = new Pool(process.env.UPSTREAM_URL ?? 'http://127.0.0.1:9000', { connections: 64 });

const schema = {
  response: {
    200: {
      type: 'object',
      required: ['nonce', 'upstream'],
      properties: {
        nonce: { type: 'string' },
        upstream: {
          type: 'object',
          properties: { item: { type: 'string' }, stock: { type: 'integer' } },
        },
      },
    },
  },
};

async function item(nonce) {
  const { statusCode, body } = await pool.request({ method: 'GET', path: `/item/${encodeURIComponent(nonce)}` });
  if (statusCode === 200) return body.json();
  await body.dump();
  throw new Error(`status ${statusCode}`);
}

export async function upstream(app) {
  app.get('/upstream/:nonce', { schema }, async (request, reply) => {
    const { nonce } = request.params;
    try {
      return { nonce, upstream: await item(nonce) };
    } catch {
      reply.code(502);
      return { error: 'Bad Gateway' };
    }
  });
}
