import { duplexPair } from 'node:stream';
import type { Duplex } from 'node:stream';
import { NoDisplay } from '../runtime.ts';

/** What a display server says first. */
export const rfbGreeting = 'RFB 003.008\n';

/** A display without a picture: it greets, keeps what it is told, and says it again. */
export class FakeDisplay {
  /** The page for which there is room now. */
  page = { width: 1280, height: 720 };
  /** What was said on each connection, in the order in which they were made. */
  readonly received: Buffer[][] = [];
  readonly #open = new Set<Duplex>();
  #isOver = false;

  connect(): Promise<Duplex> {
    if (this.#isOver) return Promise.reject(new NoDisplay('the machine is gone'));
    const [theirs, ours] = duplexPair();
    const said: Buffer[] = [];
    this.received.push(said);
    this.#open.add(ours);
    theirs.on('error', () => {});
    ours
      .on('error', () => {})
      .on('close', () => {
        this.#open.delete(ours);
        // As a socket does: half of a pair that is destroyed only ends the other.
        theirs.destroy();
      });
    ours.on('data', (bytes: Buffer) => {
      said.push(bytes);
      ours.write(bytes);
    });
    // Not ended, which half of a pair never comes to once the other is destroyed.
    ours.on('end', () => ours.destroy());
    ours.write(rfbGreeting);
    return Promise.resolve(theirs);
  }

  /** Connections that are open now. */
  get connections(): number {
    return this.#open.size;
  }

  size(page: { width: number; height: number }): Promise<void> {
    if (this.#isOver) return Promise.reject(new NoDisplay('the machine is gone'));
    this.page = { ...page };
    return Promise.resolve();
  }

  end(): void {
    this.#isOver = true;
    for (const connection of this.#open) connection.destroy();
  }
}
