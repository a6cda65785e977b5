import { Module } from '@nestjs/common';
import { CatalogController } from './catalog.controller.js';
import { HelloController } from './hello.controller.js';
import { OrderController } from './order.controller.js';
import { ServiceModule } from './service.module.js';
import { UpstreamController } from './upstream.controller.js';

@Module({
  imports: [ServiceModule],
  controllers: [HelloController, CatalogController, OrderController, UpstreamController],
})
export class AppModule {}
