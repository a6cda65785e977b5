// The workload `service`, with the middleware that Nest's documentation names, for its routes alone.
import { randomBytes, randomUUID } from 'node:crypto';
import { Module } from '@nestjs/common';
import type { MiddlewareConsumer, NestModule } from '@nestjs/common';
import cors from 'cors';
import type { NextFunction, Request, Response } from 'express';
import helmet from 'helmet';
import { ServiceController } from './service.controller.js';
import { origins } from './service.guards.js';

const traceparent = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-([0-9a-f]{2})$/;

function identify(request: Request, response: Response, next: NextFunction) {
  const begun = ['', randomBytes(16).toString('hex'), '01'];
  const [, trace, flags] = traceparent.exec(request.get('traceparent') ?? '') ?? begun;
  response.set('traceparent', `00-${trace}-${randomBytes(8).toString('hex')}-${flags}`);
  response.set('X-Request-Id', randomUUID());
  response.locals.cspNonce = randomBytes(16).toString('base64');
  next();
}

const headers = helmet({
  contentSecurityPolicy: {
    useDefaults: false,
    directives: {
      defaultSrc: ["'self'"],
      scriptSrc: ["'self'", (_, response) => `'nonce-${(response as Response).locals.cspNonce}'`],
    },
  },
  xFrameOptions: { action: 'deny' },
});

const sharing = cors({
  origin: origins,
  methods: ['GET', 'HEAD', 'POST'],
  allowedHeaders: ['Content-Type', 'Authorization'],
});

@Module({ controllers: [ServiceController] })
export class ServiceModule implements NestModule {
  configure(consumer: MiddlewareConsumer) {
    consumer.apply(identify, headers, sharing).forRoutes('service/*path');
  }
}
