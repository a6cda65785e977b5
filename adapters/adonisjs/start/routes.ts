import router from '@adonisjs/core/services/router';

const Catalog = () => import('#controllers/catalog_controller');
const Hello = () => import('#controllers/hello_controller');
const Orders = () => import('#controllers/orders_controller');
const Upstream = () => import('#controllers/upstream_controller');

router.get('/', () => 'ok');
router.get('/hello/:nonce', [Hello, 'show']);
router.get('/catalog', [Catalog, 'index']);
router.post('/validate', [Orders, 'total']);
router.get('/upstream/:nonce', [Upstream, 'show']);
