import { ExceptionHandler, type HttpContext } from '@adonisjs/core/http';
import type { errors } from '@vinejs/vine';

type ValidationError = InstanceType<typeof errors.E_VALIDATION_ERROR>;

export default class HttpExceptionHandler extends ExceptionHandler {
  protected debug = false;

  // The paths alone; by default VineJS's messages and rules come with them.
  async renderValidationError(error: ValidationError, { response }: HttpContext) {
    const paths: string[] = error.messages.map(({ field }: { field: string }) => field);
    response.status(422).send({ errors: paths.sort() });
  }
}
