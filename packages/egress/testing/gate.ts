/** Shared by the tests of this folder: sites, proxies and a gate, all real and on loopback. */
import { createServer as createHttpServer, type RequestListener } from 'node:http';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { once } from 'node:events';
import type { TestContext } from 'node:test';
import { silentLog } from '@berth/lib/log.ts';
import {
  createEgressGate,
  parseAllowList,
  type EgressGate,
  type EgressGateOptions,
  type EgressPolicy,
  type EgressRoute,
} from '../src/egress.ts';

export const direct: EgressPolicy = {
  type: 'direct',
  country: null,
  allowedDomains: null,
  blockAds: false,
  upstreams: [],
  rotate: 'on_request',
  bypass: [],
};

export interface TestServer {
  port: number;
  /** Connections accepted in total. */
  accepted: () => number;
  open: () => number;
}

/** Listens on a free port of loopback until the test ends. */
export async function listen(t: TestContext, server: Server, host = '127.0.0.1'): Promise<TestServer> {
  let accepted = 0;
  const open = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    accepted += 1;
    open.add(socket);
    socket.on('error', () => {}).once('close', () => open.delete(socket));
  });
  server.listen(0, host);
  await once(server, 'listening');
  t.after(() => {
    for (const socket of open) socket.destroy();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, accepted: () => accepted, open: () => open.size };
}

export const site = (t: TestContext, listener: RequestListener, host?: string): Promise<TestServer> =>
  listen(t, createHttpServer(listener), host);

export interface Browser {
  gate: EgressGate;
  route: EgressRoute;
  /** A connection as a browser opens it to its proxy. */
  connect: () => Promise<Socket>;
  /** Where connections come in. */
  port: number;
}

/** A gate with one route, behind a port that hands its connections over, as a machine does. */
export async function browser(
  t: TestContext,
  options: Partial<EgressGateOptions> & { allowText?: string; policy?: EgressPolicy | null } = {},
): Promise<Browser> {
  const { allowText = '127.0.0.0/8', policy = direct, ...rest } = options;
  const gate = createEgressGate({ allowList: parseAllowList(allowText), log: silentLog, ...rest });
  const route = gate.open('test');
  if (policy) route.apply(policy);
  const proxyServer = createServer({ allowHalfOpen: true }, (connection) => route.accept(connection));
  const { port } = await listen(t, proxyServer);
  t.after(() => gate.close());
  const open = async (): Promise<Socket> => {
    const socket = connect(port, '127.0.0.1');
    t.after(() => socket.destroy());
    socket.on('error', () => {});
    await once(socket, 'connect');
    return socket;
  };
  return { gate, route, connect: open, port };
}

export interface Reply {
  status: number;
  headers: Record<string, string>;
  body: string;
}

/** Sends bytes and reads one reply, by Content-Length, chunks (left as they are) or to the end. */
export function exchange(socket: Socket, text: string): Promise<Reply> {
  socket.write(text);
  let read = '';
  return new Promise<Reply>((resolve, reject) => {
    const tryParse = (hasEnded: boolean): void => {
      const end = read.indexOf('\r\n\r\n');
      if (end === -1) return hasEnded ? finish(() => reject(new Error(`no reply but "${read}"`))) : undefined;
      const [first = '', ...lines] = read.slice(0, end).split('\r\n');
      const headers = Object.fromEntries(
        lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
      );
      const body = read.slice(end + 4);
      const status = Number(first.split(' ')[1]);
      const length = status === 200 && /connection established/i.test(first) ? '0' : headers['content-length'];
      const chunksEnded = headers['transfer-encoding'] === 'chunked' && body.endsWith('0\r\n\r\n');
      if (hasEnded || chunksEnded || status === 304 || (length !== undefined && body.length >= Number(length)))
        finish(() => resolve({ status, headers, body }));
    };
    const data = (chunk: Buffer): void => {
      read += chunk.toString('latin1');
      tryParse(false);
    };
    const closed = (): void => tryParse(true);
    const finish = (complete: () => void): void => {
      socket.off('data', data).off('close', closed).off('end', closed);
      complete();
    };
    socket.on('data', data).once('close', closed).once('end', closed);
  });
}

export const get = (url: string, extra = ''): string => `GET ${url} HTTP/1.1\r\nHost: ${URL.parse(url)?.host ?? 'x'}\r\n${extra}\r\n`;

/** One plain request on a connection of its own. */
export async function fetchPlain(from: Browser, url: string, extra = ''): Promise<Reply> {
  const socket = await from.connect();
  const reply = await exchange(socket, get(url, extra));
  socket.destroy();
  return reply;
}

export async function openTunnel(from: Browser, authority: string): Promise<{ socket: Socket; reply: Reply }> {
  const socket = await from.connect();
  const reply = await exchange(socket, `CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n\r\n`);
  return { socket, reply };
}
