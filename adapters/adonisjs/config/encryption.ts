import { randomBytes } from 'node:crypto';
import { defineConfig, drivers } from '@adonisjs/core/encryption';

// AdonisJS starts only with a key for its cookies. No cookie is set here, so it may be a new one each time.
export default defineConfig({
  default: 'cookies',
  list: { cookies: drivers.chacha20({ id: 'cookies', keys: [randomBytes(32).toString('base64url')] }) },
});
