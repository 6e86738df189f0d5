/** The yardstick for HTTP: a node:http server with nothing in it, answering the body that stands in BODY. */
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
