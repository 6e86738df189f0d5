/**
 * This computer's end of a tunnel. It serves HTTP/2 over a WebSocket that it opens to the service, and each CONNECT is a
 * connection of the session's browser to the one port, whatever the browser calls it.
 */
import { once } from 'node:events';
import { createServer, constants, type IncomingHttpHeaders, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import { connect } from 'node:net';
import { pipeline } from 'node:stream';
import { socketPair } from '@berth/lib/socket-pair.ts';
import { WebSocket, createWebSocketStream } from 'ws';
import { CommandError, exitCodes, refusedByService } from '../failures.ts';
import { readRefusal } from './forward-port.ts';

const handshakeMsMax = 30_000;
/** The service opens no more connections at the same time. */
const streamsMax = 128;
/** A connection has no more bytes than this under way, so that a slow one takes nothing from the others. */
const streamWindowBytes = 128 * 1024;
/** All connections together have no more than this. */
const windowBytes = 4 * 1024 * 1024;
const messageBytesMax = 1024 * 1024;
/** The service pings three times in this time. */
const silenceMsMax = 70_000;

export interface TunnelEndOptions {
  service: { url: string; apiKey: string };
  sessionId: string;
  /** The port of this computer. */
  port: number;
  /** The port that the browser uses. */
  browserPort: number;
  /** Called when the browser wanted a connection and the port accepted none. */
  onRefused: (message: string) => void;
  signal: AbortSignal;
}

export class TunnelEnd {
  readonly #options: TunnelEndOptions;
  readonly #socket: WebSocket;
  readonly #closed: Promise<CommandError>;

  private constructor(options: TunnelEndOptions, socket: WebSocket) {
    this.#options = options;
    this.#socket = socket;
    this.#closed = (once(socket, 'close') as Promise<[number, Buffer]>).then(([code, reason]) => toFailure(code, reason.toString()));
  }

  /** @throws CommandError where the service refuses or cannot be reached */
  static async open(options: TunnelEndOptions): Promise<TunnelEnd> {
    const { service, sessionId, browserPort, signal } = options;
    const address = new URL(`${service.url}/v1/session/${encodeURIComponent(sessionId)}/tunnel?port=${browserPort}`);
    address.protocol = address.protocol.replace('http', 'ws');
    const socket = new WebSocket(address, {
      headers: { authorization: `Bearer ${service.apiKey}` },
      perMessageDeflate: false,
      maxPayload: messageBytesMax,
      handshakeTimeout: handshakeMsMax,
    });
    const abandon = (): void => socket.terminate();
    signal.addEventListener('abort', abandon, { once: true });
    const end = new TunnelEnd(options, socket);
    try {
      await end.#serve();
      signal.throwIfAborted();
      return end;
    } catch (error) {
      socket.terminate();
      signal.throwIfAborted();
      throw error;
    } finally {
      signal.removeEventListener('abort', abandon);
    }
  }

  /** Resolves when the command is told to end. @throws CommandError when the service closes the tunnel */
  async untilClosed(): Promise<void> {
    const { signal } = this.#options;
    const stop = new AbortController();
    const failure = await Promise.race([
      this.#closed,
      signal.aborted ? undefined : once(signal, 'abort', { signal: stop.signal }).then(() => undefined),
    ]);
    stop.abort();
    this.#socket.terminate();
    if (failure && !signal.aborted) throw failure;
  }

  async #serve(): Promise<void> {
    const socket = this.#socket;
    const refused = new Promise<never>((_resolve, reject) => {
      socket.once('error', (cause) => reject(unreachable(cause)));
      socket.once('unexpected-response', (_request, reply) => {
        void readRefusal(reply).then(({ status, body }) => reject(refusedByService(status, body)), reject);
      });
    });
    // Created before the handshake, so that it misses no message.
    const stream = createWebSocketStream(socket).on('error', () => {});
    const opened = once(socket, 'open');
    opened.catch(() => {});
    await Promise.race([opened, refused]);
    refused.catch(() => {});
    const [near, far] = await socketPair();
    const server = createServer({ settings: { maxConcurrentStreams: streamsMax, initialWindowSize: streamWindowBytes } });
    server.on('session', (session) => keepWatch(session, () => socket.terminate()));
    server.on('sessionError', () => {});
    server.on('stream', (each, headers: IncomingHttpHeaders & { ':method'?: string }) => this.#connect(each, headers[':method']));
    server.emit('connection', near);
    pipeline(stream, far, () => socket.terminate());
    pipeline(far, stream, () => socket.terminate());
  }

  #connect(stream: ServerHttp2Stream, method: string | undefined): void {
    stream.on('error', () => {});
    if (method !== 'CONNECT') return stream.respond({ ':status': constants.HTTP_STATUS_METHOD_NOT_ALLOWED }, { endStream: true });
    const { port } = this.#options;
    const socket = connect({ port, host: 'localhost', noDelay: true });
    stream.once('close', () => socket.destroy());
    socket.once('error', (error) => {
      if (stream.headersSent || stream.destroyed) return;
      this.#options.onRefused(
        `Port ${port} of this computer accepts no connection (${(error as NodeJS.ErrnoException).code ?? error.name}).`,
      );
      stream.respond({ ':status': constants.HTTP_STATUS_BAD_GATEWAY }, { endStream: true });
    });
    socket.once('connect', () => {
      if (stream.destroyed) return void socket.destroy();
      stream.respond({ ':status': constants.HTTP_STATUS_OK });
      pipeline(stream, socket, () => {});
      pipeline(socket, stream, () => {});
    });
  }
}

/** Ends a tunnel whose service is no longer heard of. */
function keepWatch(session: ServerHttp2Session, onSilence: () => void): void {
  session.on('error', () => {});
  session.setLocalWindowSize(windowBytes);
  const timer = setTimeout(onSilence, silenceMsMax).unref();
  session.on('ping', () => timer.refresh());
  session.once('close', () => clearTimeout(timer));
}

const unreachable = (cause: Error): CommandError =>
  new CommandError(exitCodes.unreachable, 'connection_failed', `The service cannot be reached: ${cause.message}.`);

/** Why the service has closed the tunnel. */
function toFailure(code: number, reason: string): CommandError {
  if (code === 4012)
    return new CommandError(exitCodes.failed, 'tunnel_replaced', 'Another tunnel to the same port of the session was opened.');
  if (code === 4009)
    return new CommandError(exitCodes.limited, 'tunnel_limit', 'The session has no room for another tunnel.', 'End one of its tunnels.');
  if (code === 4003) return new CommandError(exitCodes.unauthorized, 'invalid_api_key', 'The API key was revoked.', 'Run `berth login`.');
  if (code >= 4000 && code < 5000)
    return new CommandError(
      exitCodes.notFound,
      'session_ended',
      reason === 'session_ended' ? 'The session has ended.' : `The session has ended (${reason}).`,
      'Run `berth open URL` to start another session.',
    );
  return new CommandError(exitCodes.unreachable, 'connection_failed', 'The connection to the service was lost.', 'Run the command again.');
}
