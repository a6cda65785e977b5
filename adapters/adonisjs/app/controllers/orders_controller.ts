import type { HttpContext } from '@adonisjs/core/http';
import { orderValidator } from '#validators/order';

export default class OrdersController {
  async total({ request, response }: HttpContext) {
    // AdonisJS hands on an empty body as an empty object, and VineJS would judge its fields.
    if (!request.raw()) return response.badRequest();

    const { lines, nonce } = await request.validateUsing(orderValidator);
    return { total: lines.reduce((sum, line) => sum + line.quantity * line.price, 0), nonce };
  }
}
