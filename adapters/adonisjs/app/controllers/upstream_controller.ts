import type { HttpContext } from '@adonisjs/core/http';
import { Pool } from 'undici';

const upstream = new Pool(process.env.UPSTREAM_URL ?? 'http://127.0.0.1:9000', { connections: 64 });

export default class UpstreamController {
  async show({ params, response }: HttpContext) {
    const item = await fetchItem(params.nonce);
    return item ? { nonce: params.nonce, upstream: item } : response.badGateway();
  }
}

async function fetchItem(nonce: string) {
  try {
    const { statusCode, body } = await upstream.request({ path: `/item/${encodeURIComponent(nonce)}`, method: 'GET' });
    if (statusCode === 200) return await body.json();
    await body.dump();
  } catch {
    // Refused, broken off or no JSON: the caller answers for it.
  }
}
