import { Router } from 'express';
import { Pool } from 'undici';

const pool = new Pool(process.env.UPSTREAM_URL ?? 'http://127.0.0.1:9000', { connections: 64 });

async function item(nonce) {
  const { statusCode, body } = await pool.request({ method: 'GET', path: `/item/${encodeURIComponent(nonce)}` });
  if (statusCode === 200) return body.json();
  await body.dump();
  throw new Error(`status ${statusCode}`);
}

export const upstream = Router();

upstream.get('/upstream/:nonce', async (request, response) => {
  const { nonce } = request.params;
  let answer;
  try {
    answer = await item(nonce);
  } catch {
    return response.sendStatus(502);
  }
  response.json({ nonce, upstream: answer });
});
