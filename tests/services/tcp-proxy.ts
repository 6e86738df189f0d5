/** A connection that a test can interrupt, as a lost network or a stopped server would. */
import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { Transform } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';

export interface TcpProxy {
  /** Where it listens on 127.0.0.1. */
  port: number;
  /** Drops all connections and refuses new ones. */
  cut(): Promise<void>;
  /** Accepts connections again at the same address. */
  restore(): Promise<void>;
  /** Passes nothing on, and drops nothing, until the returned function is called: a network without an answer. */
  silence(): () => void;
  /** Each packet takes this much longer; 0 ends that. */
  delay(ms: number): void;
  close(): Promise<void>;
}

/** `reach` opens a connection to the server. */
export async function createTcpProxy(reach: () => Socket): Promise<TcpProxy> {
  const sockets = new Set<Socket>();
  const lag: LagState = { ms: 0, silence: null };
  const server = createServer((near) => {
    const far = reach();
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(socket);
      socket.on('error', () => socket.destroy());
      socket.once('close', () => {
        sockets.delete(socket);
        other.destroy();
      });
      socket.pipe(new Lag(lag)).pipe(other);
    }
  });
  const listen = async (port: number): Promise<number> => {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    return (server.address() as AddressInfo).port;
  };
  const cut = async (): Promise<void> => {
    if (!server.listening) return;
    const closed = once(server, 'close');
    server.close();
    for (const socket of sockets) socket.destroy();
    await closed;
  };
  const silence = (): (() => void) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    lag.silence = promise;
    return () => {
      lag.silence = null;
      resolve();
    };
  };
  const delay = (ms: number): void => void (lag.ms = ms);
  const port = await listen(0);
  return { port, cut, restore: () => listen(port).then(() => undefined), silence, delay, close: cut };
}

interface LagState {
  ms: number;
  /** Resolves when packets are passed on again; null while they are. */
  silence: Promise<void> | null;
}

/** Passes bytes on in order, later. */
class Lag extends Transform {
  readonly #state: LagState;

  constructor(state: LagState) {
    super();
    this.#state = state;
  }

  override _transform(chunk: Buffer, _encoding: string, done: (error: null, chunk: Buffer) => void): void {
    const { ms, silence } = this.#state;
    if (ms === 0 && !silence) done(null, chunk);
    else void this.#later(() => done(null, chunk));
  }

  async #later(pass: () => void): Promise<void> {
    await Promise.all([this.#state.silence, sleep(this.#state.ms)]);
    pass();
  }
}
