/** Connects customers' libraries to a browser of these tests. */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { WebSocketServer } from 'ws';
import type { Browser } from '../src/browser/browser.ts';
import type { DevtoolsClientOptions } from '../src/browser/interface.ts';

export interface Bridge {
  url: string;
  closed: string[];
  /** The option of clients that connect from now on. */
  copyDownload: DevtoolsClientOptions['copyDownload'];
  close(): Promise<void>;
}

/** A WebSocket server for `connectClient`, so that tests can connect customers' libraries. */
export async function openBridge(browser: Browser): Promise<Bridge> {
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0, perMessageDeflate: false, maxPayload: 128 * 1024 * 1024 });
  await once(server, 'listening');
  const close = async (): Promise<void> => {
    for (const socket of server.clients) socket.terminate();
    server.close();
    await once(server, 'close');
  };
  const url = `ws://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const opened: Bridge = { url, closed: [], copyDownload: undefined, close };
  server.on('connection', (socket) => {
    const early: Buffer[] = [];
    const keep = (data: Buffer): void => void early.push(data);
    socket.on('message', keep);
    void browser
      .connectClient({
        send: (message) => socket.send(message, { binary: false }),
        onClose: (reason) => {
          opened.closed.push(reason);
          socket.close(1000, reason);
        },
        copyDownload: opened.copyDownload,
      })
      .then((client) => {
        socket.off('message', keep);
        for (const data of early) void client.receive(data);
        socket.on('message', (data: Buffer) => void client.receive(data));
        socket.on('close', () => client.close());
      });
  });
  return opened;
}
