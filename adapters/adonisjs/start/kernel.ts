import router from '@adonisjs/core/services/router';
import server from '@adonisjs/core/services/server';

server.errorHandler(() => import('#exceptions/handler'));
router.use([() => import('@adonisjs/core/bodyparser_middleware')]);
