/** The line between a person and the service, which can be cut. */
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

export class Line {
  readonly #sockets = new Set<Socket>();
  #isCut = false;
  /** Where the service is reached by this line. */
  readonly origin: string;
  readonly #close: () => void;

  private constructor(origin: string, close: () => void) {
    this.origin = origin;
    this.#close = close;
  }

  /** `to`: the origin of the service. */
  static async lay(to: string): Promise<Line> {
    const { hostname, port } = new URL(to);
    const server = createServer((near) => line.#join(near, () => connect(Number(port), hostname)));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const line = new Line(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, () => server.close());
    return line;
  }

  /** The same address by this line. */
  over(link: string): string {
    return link.replace(new URL(link).origin, this.origin);
  }

  /** Breaks all connections, and refuses new ones. */
  cut(): void {
    this.#isCut = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  mend(): void {
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
