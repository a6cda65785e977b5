import { Controller, Get, Header, Param } from '@nestjs/common';

@Controller()
export class HelloController {
  @Get()
  @Header('Content-Type', 'text/plain')
  ok() {
    return 'ok';
  }

  @Get('hello/:nonce')
  hello(@Param('nonce') nonce: string) {
    return { hello: nonce };
  }
}
