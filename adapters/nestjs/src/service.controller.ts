import { Controller, Get, HttpCode, Param, Post, UseGuards } from '@nestjs/common';
import { Authenticated, SameSite } from './service.guards.js';

@Controller('service')
export class ServiceController {
  @Get('private/:nonce')
  @UseGuards(Authenticated)
  zone(@Param('nonce') nonce: string) {
    return { service: nonce, zone: 'private' };
  }

  @Get(':nonce')
  show(@Param('nonce') nonce: string) {
    return { service: nonce };
  }

  @Post(':nonce')
  @HttpCode(200)
  @UseGuards(SameSite)
  post(@Param('nonce') nonce: string) {
    return { service: nonce };
  }
}
