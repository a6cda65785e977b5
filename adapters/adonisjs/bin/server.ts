import 'reflect-metadata';
import { Ignitor, prettyPrintError } from '@adonisjs/core';

const root = new URL('../', import.meta.url);

new Ignitor(root, { importer: (path) => import(path.startsWith('.') ? new URL(path, root).href : path) })
  .httpServer()
  .start()
  .catch((error) => {
    process.exitCode = 1;
    prettyPrintError(error);
  });

// The first process of a container gets no default action for a signal.
process.on('SIGTERM', () => process.exit());
