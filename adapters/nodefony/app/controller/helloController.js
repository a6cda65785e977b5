module.exports = class helloController extends nodefony.Controller {
  okAction() {
    this.setContentType('text/plain');
    return this.renderResponse('ok');
  }

  helloAction(nonce) {
    return this.renderJson({ hello: nonce });
  }
};
