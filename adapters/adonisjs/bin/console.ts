import 'reflect-metadata';
import { Ignitor, prettyPrintError } from '@adonisjs/core';

const root = new URL('../', import.meta.url);

new Ignitor(root, { importer: (path) => import(path.startsWith('.') ? new URL(path, root).href : path) })
  .ace()
  .handle(process.argv.splice(2))
  .catch((error) => {
    process.exitCode = 1;
    prettyPrintError(error);
  });
