const route = (pattern, controller, ...methods) => ({ pattern, defaults: { controller }, requirements: { method: methods } });

module.exports = {
  ok: route('/', 'app:hello:ok', 'GET', 'HEAD'),
  hello: route('/hello/{nonce}', 'app:hello:hello', 'GET', 'HEAD'),
  catalog: route('/catalog', 'app:catalog:list', 'GET', 'HEAD'),
  validate: route('/validate', 'app:order:total', 'POST'),
  service: route('/service/{nonce}', 'app:service:show', 'GET', 'HEAD'),
  'service-post': route('/service/{nonce}', 'app:service:post', 'POST'),
  'service-preflight': route('/service/{nonce}', 'app:service:preflight', 'OPTIONS'),
  'service-private': route('/service/private/{nonce}', 'app:service:zone', 'GET', 'HEAD'),
  upstream: route('/upstream/{nonce}', 'app:upstream:merge', 'GET', 'HEAD'),
};
