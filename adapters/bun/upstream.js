const base = process.env.UPSTREAM_URL ?? 'http://127.0.0.1:9000';

// Bun keeps fetch's connections alive, and opens 256 at most.
async function item(nonce) {
  const response = await fetch(`${base}/item/${encodeURIComponent(nonce)}`);
  if (response.status === 200) return response.json();
  await response.text(); // or the connection is not used again
  throw new Error(`status ${response.status}`);
}

export async function upstream({ params: { nonce } }) {
  let answer;
  try {
    answer = await item(nonce);
  } catch {
    return new Response('Bad Gateway', { status: 502 });
  }
  return Response.json({ nonce, upstream: answer });
}
