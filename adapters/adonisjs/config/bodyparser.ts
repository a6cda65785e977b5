import { defineConfig } from '@adonisjs/core/bodyparser';

export default defineConfig({
  json: {
    limit: '64kb',
    strict: false, // strictly, what begins like no object is a 422 and not a 400, JSON or not
    trimWhitespaces: false, // what is echoed comes back as it was sent
  },
});
