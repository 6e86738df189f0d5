/** A WebSocket server for `connectClient`, so that tests can connect customers' libraries. */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { WebSocketServer } from 'ws';
import type { Browser } from '../browser.ts';

export interface Bridge {
  url: string;
  closed: string[];
  close(): Promise<void>;
}

export async function openBridge(browser: Browser): Promise<Bridge> {
  const closed: string[] = [];
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0, perMessageDeflate: false, maxPayload: 128 * 1024 * 1024 });
  await once(server, 'listening');
  server.on('connection', (socket) => {
    const early: Buffer[] = [];
    const keep = (data: Buffer): void => void early.push(data);
    socket.on('message', keep);
    void browser
      .connectClient({
        send: (message) => socket.send(message, { binary: false }),
        onClose: (reason) => {
          closed.push(reason);
          socket.close(1000, reason);
        },
      })
      .then((client) => {
        socket.off('message', keep);
        for (const data of early) client.receive(data);
        socket.on('message', (data: Buffer) => client.receive(data));
        socket.on('close', () => client.close());
      });
  });
  const close = async (): Promise<void> => {
    for (const socket of server.clients) socket.terminate();
    server.close();
    await once(server, 'close');
  };
  return { url: `ws://127.0.0.1:${(server.address() as AddressInfo).port}`, closed, close };
}
