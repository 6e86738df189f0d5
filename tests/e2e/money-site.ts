/** A site whose pages are as long as they are asked to be, and that counts every byte on its wire. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

export interface CountedSite {
  /** `http://127.0.0.1:PORT` */
  url: string;
  /** `127.0.0.1:PORT`, for BERTH_EGRESS_ALLOW. */
  host: string;
  /** A page of so many bytes; one that is held has so many and never ends. */
  page(bytes: number, options?: { isHeld?: boolean }): string;
  /** Asked for by `page(…)` of this address, or any other path. */
  count(address: string): number;
  /** Both ways, on all connections that there were. */
  wireBytes(): number;
  close(): Promise<void>;
}

/** More than any page here has. */
const heldLength = 1_000_000_000;

export async function startCountedSite(): Promise<CountedSite> {
  const asked: string[] = [];
  const open = new Set<Socket>();
  let closedBytes = 0;
  const server = createServer((request, response) => {
    asked.push(request.url ?? '');
    answer(request, response);
  });
  server.on('connection', (socket: Socket) => {
    open.add(socket);
    socket.once('close', () => {
      open.delete(socket);
      closedBytes += bytesOf(socket);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const url = `http://${host}`;
  return {
    url,
    host,
    page: (bytes, { isHeld = false } = {}) => `${url}/${isHeld ? 'held' : 'whole'}/${bytes}`,
    count: (address) => asked.filter((path) => url + path === address).length,
    wireBytes: () => [...open].reduce((sum, socket) => sum + bytesOf(socket), closedBytes),
    close: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

function answer({ url = '' }: IncomingMessage, response: ServerResponse): void {
  const [, kind, bytes = ''] = /^\/(held|whole)\/(\d+)$/.exec(url) ?? [];
  response.setHeader('content-type', 'text/html; charset=utf-8');
  if (kind === 'held') response.setHeader('content-length', heldLength).write(pageOf(Number(bytes)));
  else if (kind === 'whole') response.end(pageOf(Number(bytes)));
  else response.writeHead(404).end('<title>Not here</title>');
}

const bytesOf = ({ bytesRead, bytesWritten }: Socket): number => bytesRead + bytesWritten;

/** Its length is in a comment: to show it is no work. */
function pageOf(bytes: number): string {
  const head = `<!doctype html><title>Page of ${bytes}</title><h1>Known to the byte</h1><!--`;
  return `${head}${'-'.repeat(Math.max(0, bytes - head.length - 3))}-->`;
}
