import { BadGatewayException, Controller, Get, Param } from '@nestjs/common';
import { Pool } from 'undici';

const upstream = new Pool(process.env.UPSTREAM_URL ?? 'http://127.0.0.1:9000', { connections: 64 });

@Controller('upstream')
export class UpstreamController {
  @Get(':nonce')
  async merge(@Param('nonce') nonce: string) {
    return { nonce, upstream: await fetchItem(nonce) };
  }
}

async function fetchItem(nonce: string) {
  try {
    const { statusCode, body } = await upstream.request({ path: `/item/${encodeURIComponent(nonce)}`, method: 'GET' });
    if (statusCode === 200) return await body.json();
    await body.dump();
  } catch (cause) {
    throw new BadGatewayException(undefined, { cause });
  }
  throw new BadGatewayException();
}
