// What a route gives back; server.js writes it.
export const text = (status, body) => ({ status, type: 'text/plain', body });
export const json = (status, value) => ({ status, type: 'application/json', body: JSON.stringify(value) });
export const notFound = text(404, 'Not Found');
export const badRequest = text(400, 'Bad Request');
