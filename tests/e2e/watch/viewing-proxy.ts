/** A TCP proxy between a viewer and the service that tests can interrupt. */
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

export class TcpProxy {
  readonly #sockets = new Set<Socket>();
  #isCut = false;
  /** The service's origin through this proxy. */
  readonly origin: string;
  readonly #close: () => void;

  private constructor(origin: string, close: () => void) {
    this.origin = origin;
    this.#close = close;
  }

  /** `to` is the origin of the service. */
  static async start(to: string): Promise<TcpProxy> {
    const { hostname, port } = new URL(to);
    const server = createServer((near) => proxy.#join(near, () => connect(Number(port), hostname)));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const proxy = new TcpProxy(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, () => server.close());
    return proxy;
  }

  /** Rewrites an address to use this proxy. */
  rewrite(link: string): string {
    return link.replace(new URL(link).origin, this.origin);
  }

  /** Closes all connections and refuses new ones. */
  cut(): void {
    this.#isCut = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  restore(): void {
    this.#isCut = false;
  }

  close(): void {
    this.cut();
    this.#close();
  }

  #join(near: Socket, dial: () => Socket): void {
    if (this.#isCut) {
      near.destroy();
      return;
    }
    const far = dial();
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      this.#sockets.add(one);
      one.on('error', () => other.destroy());
      one.once('close', () => {
        this.#sockets.delete(one);
        other.destroy();
      });
      one.pipe(other);
    }
  }
}
