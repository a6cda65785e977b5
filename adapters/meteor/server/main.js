import { WebApp } from 'meteor/webapp';
import { catalog } from './catalog';
import { orderErrors } from './order';
import { upstreamItem } from './upstream';

const app = WebApp.handlers; // Meteor's own Express

app.get('/', (request, response) => {
  response.type('text/plain').send('ok');
});

app.get('/hello/:nonce', (request, response) => {
  response.json({ hello: request.params.nonce });
});

app.get('/catalog', (request, response) => {
  const page = catalog(request.query);
  if (page) response.json(page);
  else response.sendStatus(400);
});

app.post('/validate', WebApp.express.json({ limit: '64kb' }), (request, response) => {
  // Express hands on an empty body as an empty object or as none, and the schema would judge its fields.
  if (request.body === undefined || request.headers['content-length'] === '0') return response.sendStatus(400);

  const errors = orderErrors(request.body);
  if (errors.length) return response.status(422).json({ errors });
  const { lines, nonce } = request.body;
  response.json({ total: lines.reduce((sum, line) => sum + line.quantity * line.price, 0), nonce });
});

app.get('/upstream/:nonce', async (request, response) => {
  const { nonce } = request.params;
  const item = await upstreamItem(nonce);
  if (item) response.json({ nonce, upstream: item });
  else response.sendStatus(502);
});

// The first process of a container gets no default action for a signal.
process.on('SIGTERM', () => process.exit());
