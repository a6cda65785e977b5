import express from 'express';
import { catalog } from './catalog.js';
import { service } from './service.js';
import { upstream } from './upstream.js';
import { validate } from './validate.js';

const app = express();

// Express's own advice for production. Everything else stays at its default, ETags too: no such advice asks for less.
app.disable('x-powered-by');

app.get('/', (request, response) => {
  response.type('text/plain').send('ok');
});

app.get('/hello/:nonce', (request, response) => {
  response.json({ hello: request.params.nonce });
});

app.use(catalog, validate, upstream);
app.use('/service', service);

app.listen(8080, '0.0.0.0', (error) => {
  if (error) throw error;
});

// The first process of a container gets no default action for a signal.
process.on('SIGTERM', () => process.exit());
