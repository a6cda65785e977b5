import { readFileSync } from 'node:fs';
import { Controller, Get, Query, ValidationPipe } from '@nestjs/common';
import { Type } from 'class-transformer';
import { Equals, IsInt, IsNotEmpty, IsString, Min } from 'class-validator';

class CatalogQuery {
  @IsString()
  @IsNotEmpty()
  category: string;

  @Type(() => Number)
  @IsInt()
  @Min(1)
  max_price: number;

  @Equals('price')
  sort: string;

  @Type(() => Number)
  @IsInt()
  @Min(1)
  page: number;

  @IsString()
  @IsNotEmpty()
  nonce: string;
}

interface Item {
  id: number;
  category: string;
  price: number;
}

const pageSize = 20;
const items: Item[] = JSON.parse(readFileSync('data/catalog/items.json', 'utf8'));

@Controller('catalog')
export class CatalogController {
  @Get()
  list(@Query(new ValidationPipe({ transform: true })) query: CatalogQuery) {
    const { category, max_price, page, nonce } = query;
    const matches = items
      .filter((item) => item.category === category && item.price <= max_price)
      .sort((a, b) => a.price - b.price || a.id - b.id);
    const start = (page - 1) * pageSize;
    return { total: matches.length, page, items: matches.slice(start, start + pageSize), nonce };
  }
}
