/** The HTTP baseline: a bare node:http server that answers with the text of BODY. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

const body = process.env.BODY ?? '{}';
const server = createServer((_, response) => {
  response.writeHead(200, { 'content-type': 'application/json; charset=utf-8', 'content-length': Buffer.byteLength(body) }).end(body);
});
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`));
process.once('SIGTERM', () => {
  server.close();
  server.closeAllConnections();
});
