const { Pool } = require('undici');

const upstream = new Pool(process.env.UPSTREAM_URL ?? 'http://127.0.0.1:9000', { connections: 64 });

async function fetchItem(nonce) {
  try {
    const { statusCode, body } = await upstream.request({ path: `/item/${encodeURIComponent(nonce)}`, method: 'GET' });
    if (statusCode === 200) return await body.json();
    await body.dump();
  } catch {
    // Refused, broken off or no JSON: the caller answers for it.
  }
}

// nodefony's own client is the package request, given up in 2020, here without connections that stay open.
module.exports = class upstreamController extends nodefony.Controller {
  async mergeAction(nonce) {
    const item = await fetchItem(nonce);
    return item ? this.renderJson({ nonce, upstream: item }) : this.renderJson({ error: 'upstream' }, 502);
  }
};
