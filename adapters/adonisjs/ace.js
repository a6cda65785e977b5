// AdonisJS's command line, only for `node ace build`.
import '@poppinss/ts-exec';
await import('./bin/console.js');
