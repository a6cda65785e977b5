import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { AppModule } from './app.module.js';

const app = await NestFactory.create<NestExpressApplication>(AppModule);

// Express's own advice for production.
app.disable('x-powered-by');
// Nest leaves the limit at 100 kB; the workload's is 64 KiB.
app.useBodyParser('json', { limit: '64kb' });

// The first process of a container gets no default action for a signal.
process.on('SIGTERM', () => process.exit());

await app.listen(8080, '0.0.0.0');
