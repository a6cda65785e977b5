const route = (pattern, controller, ...methods) => ({ pattern, defaults: { controller }, requirements: { method: methods } });

module.exports = {
  ok: route('/', 'app:hello:ok', 'GET', 'HEAD'),
  hello: route('/hello/{nonce}', 'app:hello:hello', 'GET', 'HEAD'),
  catalog: route('/catalog', 'app:catalog:list', 'GET', 'HEAD'),
  validate: route('/validate', 'app:order:total', 'POST'),
  upstream: route('/upstream/{nonce}', 'app:upstream:merge', 'GET', 'HEAD'),
};
