import { Agent, get } from 'node:http';
import { json, text } from './reply.js';

const base = process.env.UPSTREAM_URL ?? 'http://127.0.0.1:9000';
const agent = new Agent({ keepAlive: true, maxSockets: 64 });
const badGateway = text(502, 'Bad Gateway');

function fetchJson(url) {
  return new Promise((resolve, reject) => {
    const request = get(url, { agent }, (response) => {
      let body = '';
      response.setEncoding('utf8');
      response.on('data', (chunk) => (body += chunk));
      response.on('error', reject);
      response.on('end', () => {
        if (response.statusCode !== 200) return reject(new Error(`status ${response.statusCode}`));
        try {
          resolve(JSON.parse(body));
        } catch (error) {
          reject(error);
        }
      });
    });
    request.on('error', reject);
  });
}

export async function upstream(nonce) {
  try {
    const upstream = await fetchJson(`${base}/item/${encodeURIComponent(nonce)}`);
    return json(200, { nonce, upstream });
  } catch {
    return badGateway;
  }
}
