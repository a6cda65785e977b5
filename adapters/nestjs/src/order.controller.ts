import {
  BadRequestException,
  Body,
  Controller,
  HttpCode,
  Post,
  UnprocessableEntityException,
  UseGuards,
  ValidationPipe,
} from '@nestjs/common';
import type { CanActivate, ExecutionContext, ValidationError } from '@nestjs/common';
import type { Request } from 'express';
import { Order } from './order.dto.js';

// What is itself wrong is named alone: the parts of a list that is none say nothing.
function paths(errors: ValidationError[], parent = ''): string[] {
  return errors.flatMap(({ property, constraints, children = [] }) => {
    const path = parent + property;
    return constraints ? [path] : paths(children, `${path}.`);
  });
}

const order = new ValidationPipe({
  exceptionFactory: (errors) => new UnprocessableEntityException({ errors: paths(errors).sort() }),
});

// Express hands on an empty body as an empty object or as none, and the pipe would judge its fields.
class NotEmpty implements CanActivate {
  canActivate(context: ExecutionContext) {
    const { headers, body } = context.switchToHttp().getRequest<Request>();
    if (headers['content-length'] === '0' || body === undefined) throw new BadRequestException();
    return true;
  }
}

@Controller('validate')
export class OrderController {
  @Post()
  @HttpCode(200)
  @UseGuards(NotEmpty)
  total(@Body(order) { lines, nonce }: Order) {
    return { total: lines.reduce((sum, line) => sum + line.quantity * line.price, 0), nonce };
  }
}
