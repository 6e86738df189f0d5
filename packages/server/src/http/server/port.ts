/**
 * The service's port. It is bound before anything else starts: a port that is
 * taken is reported at once, and callers that come early get an answer.
 */
import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ServiceError, type Health } from '@berth/contract';
import { newId } from '@berth/lib/ids.ts';
import { escapeHtml } from '@berth/lib/text/html.ts';
import { errorPageHeaders, prefersHtml } from '../error-page.ts';
import { toErrorResponse, type HttpResponse } from '../errors.ts';
import type { TlsFiles } from './tls.ts';

export interface PortOptions {
  /** `localhost` binds all its addresses. */
  host: string;
  /** 0: a free one. */
  port: number;
  /** Absent: plain HTTP. */
  tls?: TlsFiles | undefined;
  /** What the service is doing until it is ready, for callers that come early. */
  note?: () => string;
}

/** The message names the variable to change. */
export class PortUnusableError extends Error {}

const retrySeconds = 1;

export class BoundPort {
  readonly host: string;
  readonly #note: () => string;
  readonly #tls: TlsFiles | undefined;
  #listeners: Server[] = [];
  #port = 0;
  /** What answers from now on. */
  #next: Server | null = null;

  private constructor({ host, note = () => 'beginning', tls }: PortOptions) {
    this.host = host;
    this.#tls = tls;
    this.#note = note;
  }

  /** Binds the port and answers everything with 503 `starting`. @throws PortUnusableError */
  static async open(options: PortOptions): Promise<BoundPort> {
    const bound = new BoundPort(options);
    const [first = options.host, ...others] = await addressesOf(options.host);
    const main = await bound.#listen(first, options.port).catch(async (error: unknown) => {
      throw await toPortUnusable(error, options);
    });
    bound.#listeners = [main];
    bound.#port = (main.address() as AddressInfo).port;
    // The other address of `localhost` may not exist on this host.
    for (const address of others) await bound.#listen(address, bound.port).then((server) => bound.#listeners.push(server), ignore);
    return bound;
  }

  /** The number that was bound. */
  get port(): number {
    return this.#port;
  }

  /** All requests from now on, also of open connections, go to `server`. */
  async handOver(server: Server): Promise<void> {
    const [main, ...others] = this.#listeners;
    if (!main) throw new Error('the port is closed');
    const listening = once(server, 'listening');
    // Takes the socket over, with the connections that wait in its queue.
    server.listen(main);
    await listening;
    this.#next = server;
    for (const each of others) each.removeAllListeners('connection').on('connection', (socket) => server.emit('connection', socket));
    for (const each of this.#listeners) each.on('upgrade', (request, socket, head) => void server.emit('upgrade', request, socket, head));
  }

  /** Stops listening and closes what is left of connections that were opened before the service was ready. */
  close(): void {
    for (const each of this.#listeners) {
      each.close();
      each.closeAllConnections();
    }
  }

  async #listen(host: string, port: number): Promise<Server> {
    const handle = (request: IncomingMessage, response: ServerResponse): void => {
      if (this.#next) this.#next.emit('request', request, response);
      else this.#answer(request, response);
    };
    const server = this.#tls?.createServer({}, handle) ?? createServer(handle);
    server.listen(port, host);
    await once(server, 'listening');
    return server;
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const requestId = newId('req');
    const { status, headers, body } = answerTo(request, this.#note(), requestId);
    request.resume();
    response.writeHead(status, {
      'content-type': 'application/json; charset=utf-8',
      ...headers,
      'x-request-id': requestId,
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
      // The next request reaches the service itself.
      connection: 'close',
    });
    response.end(`${body}\n`);
  }
}

const ignore = (): void => undefined;

async function addressesOf(host: string): Promise<string[]> {
  if (host !== 'localhost') return [host];
  const addresses = await lookup(host, { all: true }).catch(() => []);
  return [...new Set(addresses.map(({ address }) => address))];
}

function answerTo(request: IncomingMessage, note: string, requestId: string): HttpResponse {
  const path = request.url?.split('?', 1)[0];
  if (path === '/livez') return { status: 200, headers: {}, body: JSON.stringify({ status: 'ok' }) };
  const error = new ServiceError('starting', `The service is starting: ${note}. Try again in a moment.`, {
    retryAfterSeconds: retrySeconds,
  });
  const refusal = toErrorResponse(error, requestId);
  if (path === '/health') return { ...refusal, body: JSON.stringify(healthOf(note)) };
  if (prefersHtml(request)) return { ...refusal, headers: { ...refusal.headers, ...errorPageHeaders }, body: startingPage(note) };
  return refusal;
}

const healthOf = (note: string): Health => ({ status: 'starting', checks: { start: { status: 'degraded', note } } });

const startingPage = (note: string): string => `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <meta http-equiv="refresh" content="${retrySeconds}">
    <title>Berth is starting</title>
  </head>
  <body>
    <main>
      <h1>Berth is starting</h1>
      <p>It is ${escapeHtml(note)}. This page loads again by itself.</p>
    </main>
  </body>
</html>
`;

/** How many of the next ports are tried before any free one is proposed. */
const proposalsMax = 20;

/** A port to propose in place of one that is taken: the next that is free now; 0, which takes any, where none is. */
async function nextFreePort(host: string, port: number): Promise<number> {
  for (let next = port + 1; next <= Math.min(port + proposalsMax, 65_535); next += 1) {
    const probe = createServer().listen(next, host);
    const isFree = await once(probe, 'listening').then(
      () => true,
      () => false,
    );
    if (isFree) {
      probe.close();
      return next;
    }
  }
  return 0;
}

async function toPortUnusable(error: unknown, { host, port }: PortOptions): Promise<unknown> {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  const proposal = code === 'EADDRINUSE' ? await nextFreePort(host, port) : 0;
  const reasons: Record<string, string> = {
    EADDRINUSE: `BERTH_PORT: port ${port} of ${host} is in use. Stop the program that uses it, or take another port: --port ${proposal}`,
    EACCES: `BERTH_PORT: this user may not listen on port ${port}. Take a port above 1023: --port 8080`,
    EADDRNOTAVAIL: `BERTH_HOST: ${host} is not an address of this machine.`,
    ENOTFOUND: `BERTH_HOST: ${host} is neither an address nor a name that can be resolved.`,
    EAI_AGAIN: `BERTH_HOST: ${host} is neither an address nor a name that can be resolved.`,
  };
  const reason = reasons[code];
  return reason === undefined ? error : new PortUnusableError(reason, { cause: error });
}
