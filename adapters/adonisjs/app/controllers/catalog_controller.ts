import { readFileSync } from 'node:fs';
import type { HttpContext } from '@adonisjs/core/http';
import app from '@adonisjs/core/services/app';
import { catalogValidator } from '#validators/catalog';

interface Item {
  id: number;
  category: string;
  price: number;
}

const items: Item[] = JSON.parse(readFileSync(app.makePath('data/catalog/items.json'), 'utf8'));
const pageSize = 20;

export default class CatalogController {
  async index({ request, response }: HttpContext) {
    const [error, query] = await catalogValidator.tryValidate(request.qs());
    if (error) return response.badRequest({ errors: error.messages });

    const { category, max_price, page, nonce } = query;
    const matches = items
      .filter((item) => item.category === category && item.price <= max_price)
      .sort((a, b) => a.price - b.price || a.id - b.id);
    const start = (page - 1) * pageSize;
    return { total: matches.length, page, items: matches.slice(start, start + pageSize), nonce };
  }
}
