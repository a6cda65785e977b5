// A body, read up to a limit.
const LIMIT = 64 * 1024;

/** The body's text, or the status with which it is refused. */
export function readBody(request) {
  return new Promise((resolve, reject) => {
    const chunks = [];
    let length = 0;
    request.on('data', (chunk) => {
      length += chunk.length;
      // What comes after is read and dropped, so that the connection stays usable.
      if (length <= LIMIT) chunks.push(chunk);
    });
    request.on('end', () => {
      if (length > LIMIT) resolve({ refused: 413 });
      else resolve({ body: Buffer.concat(chunks).toString('utf8') });
    });
    request.on('error', reject);
  });
}
