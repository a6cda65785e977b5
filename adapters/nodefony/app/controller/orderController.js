const { orderErrors } = require('../src/order');

const bodyLimit = 64 * 1024; // nodefony has limits for forms and files alone

module.exports = class orderController extends nodefony.Controller {
  totalAction() {
    if (this.request.dataSize > bodyLimit) return this.renderJson({ error: 'payload too large' }, 413);

    let order;
    try {
      order = JSON.parse(this.request.data);
    } catch {
      return this.renderJson({ error: 'bad request' }, 400);
    }
    const errors = orderErrors(order ?? {});
    if (errors.length) return this.renderJson({ errors }, 422);
    return this.renderJson({
      total: order.lines.reduce((sum, line) => sum + line.quantity * line.price, 0),
      nonce: order.nonce,
    });
  }
};
