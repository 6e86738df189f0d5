/** A site with pages of any length that counts every byte on its connections. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

export interface CountedSite {
  /** `http://127.0.0.1:PORT` */
  url: string;
  /** `127.0.0.1:PORT`, for BERTH_EGRESS_ALLOW. */
  host: string;
  /** The address of a page with this many bytes; an endless page sends them and never ends. */
  page(bytes: number, options?: { isEndless?: boolean }): string;
  /** The number of requests for an address. */
  count(address: string): number;
  /** Bytes in both directions on all connections so far. */
  wireBytes(): number;
  close(): Promise<void>;
}

/** Longer than any page. */
const endlessLength = 1_000_000_000;

export async function startCountedSite(): Promise<CountedSite> {
  const requests: string[] = [];
  const open = new Set<Socket>();
  let closedBytes = 0;
  const server = createServer((request, response) => {
    requests.push(request.url ?? '');
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
    page: (bytes, { isEndless = false } = {}) => `${url}/${isEndless ? 'endless' : 'complete'}/${bytes}`,
    count: (address) => requests.filter((path) => url + path === address).length,
    wireBytes: () => [...open].reduce((sum, socket) => sum + bytesOf(socket), closedBytes),
    close: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

function answer({ url = '' }: IncomingMessage, response: ServerResponse): void {
  const [, kind, bytes = ''] = /^\/(endless|complete)\/(\d+)$/.exec(url) ?? [];
  response.setHeader('content-type', 'text/html; charset=utf-8');
  if (kind === 'endless') response.setHeader('content-length', endlessLength).write(pageOf(Number(bytes)));
  else if (kind === 'complete') response.end(pageOf(Number(bytes)));
  else response.writeHead(404).end('<title>Not here</title>');
}

const bytesOf = ({ bytesRead, bytesWritten }: Socket): number => bytesRead + bytesWritten;

/** The padding is in a comment, which needs no rendering. */
function pageOf(bytes: number): string {
  const head = `<!doctype html><title>Page of ${bytes}</title><h1>Known to the byte</h1><!--`;
  return `${head}${'-'.repeat(Math.max(0, bytes - head.length - 3))}-->`;
}
