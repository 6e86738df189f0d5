import { duplexPair } from 'node:stream';
import type { Duplex } from 'node:stream';
import { NoDisplay } from '../runtime.ts';

/** First message of an RFB server. */
export const rfbGreeting = 'RFB 003.008\n';

/** A display without a picture: it greets, records what it receives, and echoes it. */
export class FakeDisplay {
  /** The current page size. */
  page = { width: 1280, height: 720 };
  /** Data received on each connection, in order. */
  readonly received: Buffer[][] = [];
  readonly #open = new Set<Duplex>();
  #hasEnded = false;

  connect(): Promise<Duplex> {
    if (this.#hasEnded) return Promise.reject(new NoDisplay('the machine has ended'));
    const [theirs, ours] = duplexPair();
    const said: Buffer[] = [];
    this.received.push(said);
    this.#open.add(ours);
    theirs.on('error', () => {});
    ours
      .on('error', () => {})
      .on('close', () => {
        this.#open.delete(ours);
        // Like a socket: destroying one half of a pair only ends the other.
        theirs.destroy();
      });
    ours.on('data', (bytes: Buffer) => {
      said.push(bytes);
      ours.write(bytes);
    });
    // Destroy, as one half of a pair never finishes once the other is destroyed.
    ours.on('end', () => ours.destroy());
    ours.write(rfbGreeting);
    return Promise.resolve(theirs);
  }

  /** Number of open connections. */
  get connections(): number {
    return this.#open.size;
  }

  resize(page: { width: number; height: number }): Promise<void> {
    if (this.#hasEnded) return Promise.reject(new NoDisplay('the machine has ended'));
    this.page = { ...page };
    return Promise.resolve();
  }

  end(): void {
    this.#hasEnded = true;
    for (const connection of this.#open) connection.destroy();
  }
}
