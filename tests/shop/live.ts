/** Live updates: stock by server-sent events, prices by WebSocket. */
import type { Server as HttpServer } from 'node:http';
import type { Server as TlsServer } from 'node:https';
import { WebSocketServer, type WebSocket } from 'ws';
import { productOf } from './data.ts';
import type { Routes } from './wire.ts';

const tickMs = 100;
const ticksPerSubscription = 3;
const messageBytesMax = 64 * 1024;

export const liveRoutes: Routes = {
  // `?count=N` ends after N events; without it the stream is endless.
  'GET /api/stock':
    ({ url, headers }) =>
    (response) => {
      const productId = Number(url.searchParams.get('product') ?? 1);
      const count = Number(url.searchParams.get('count') ?? Infinity);
      let sent = Number(headers['last-event-id'] ?? 0);
      const stock = productOf(productId)?.stock ?? 0;
      response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
      response.write('retry: 1000\n\n');
      const timer = setInterval(() => {
        sent += 1;
        response.write(
          `id: ${sent}\nevent: stock\ndata: ${JSON.stringify({ product_id: productId, stock: Math.max(0, stock - (sent % 3)) })}\n\n`,
        );
        if (sent >= count) response.end();
      }, tickMs);
      response.once('close', () => clearInterval(timer));
    },
};

/** `/ws`: `{"subscribe": 7}` sends three price ticks of that product; other messages are echoed. */
export function openTicker(server: HttpServer | TlsServer): WebSocketServer {
  const sockets = new WebSocketServer({ noServer: true, maxPayload: messageBytesMax });
  sockets.on('connection', (socket) => {
    socket.send(JSON.stringify({ type: 'hello', shop: 'Quayside Goods' }));
    socket.on('message', (data: Buffer, binary) => {
      const productId = binary ? undefined : subscriptionIn(data);
      if (productId === undefined) socket.send(data, { binary });
      else tick(socket, productId);
    });
  });
  server.on('upgrade', (request, socket, head) => {
    if (new URL(request.url ?? '/', 'http://shop').pathname === '/ws')
      sockets.handleUpgrade(request, socket, head, (ws) => sockets.emit('connection', ws, request));
    else socket.end('HTTP/1.1 404 Not Found\r\nconnection: close\r\ncontent-length: 0\r\n\r\n');
  });
  return sockets;
}

function subscriptionIn(data: Buffer): number | undefined {
  try {
    const { subscribe } = JSON.parse(data.toString('utf8')) as { subscribe?: unknown };
    return typeof subscribe === 'number' ? subscribe : undefined;
  } catch {
    return undefined;
  }
}

function tick(socket: WebSocket, productId: number): void {
  let n = 0;
  const timer = setInterval(() => {
    n += 1;
    socket.send(JSON.stringify({ type: 'price', product_id: productId, price: ((productOf(productId)?.price ?? 0) + n * 10) / 100, n }));
    if (n === ticksPerSubscription) clearInterval(timer);
  }, tickMs);
  socket.once('close', () => clearInterval(timer));
}
