import { timingSafeEqual } from 'node:crypto';
import { ForbiddenException, UnauthorizedException } from '@nestjs/common';
import type { CanActivate, ExecutionContext } from '@nestjs/common';
import type { Request, Response } from 'express';

export const origins = ['https://shop.example', 'https://admin.example'];

const credentials = Buffer.from('Bearer 5ec7e7-70ken');

export class SameSite implements CanActivate {
  canActivate(context: ExecutionContext) {
    const { origin, 'sec-fetch-site': site } = context.switchToHttp().getRequest<Request>().headers;
    const strange = origin === undefined ? site === 'cross-site' : !origins.includes(origin);
    if (strange) throw new ForbiddenException({ error: 'forbidden' });
    return true;
  }
}

export class Authenticated implements CanActivate {
  canActivate(context: ExecutionContext) {
    const http = context.switchToHttp();
    const sent = Buffer.from(http.getRequest<Request>().get('authorization') ?? '');
    if (sent.length === credentials.length && timingSafeEqual(sent, credentials)) return true;
    http.getResponse<Response>().set('WWW-Authenticate', 'Bearer');
    throw new UnauthorizedException({ error: 'unauthorized' });
  }
}
