import type { HttpContext } from '@adonisjs/core/http';

export default class HelloController {
  show({ params }: HttpContext) {
    return { hello: params.nonce };
  }
}
