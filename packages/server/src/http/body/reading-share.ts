/** How much of the event loop the sockets of one owner get for what they receive. */
import { setTimeout as sleep } from 'node:timers/promises';
import { nextTurn, TurnBudget } from '@berth/lib/turns/turn-budget.ts';

/** Messages up to here are read as fast as they come. */
const largeBytesMin = 1024 * 1024;
/** Bytes of large messages together per `largeMs`, 100 MiB a second: each megabyte takes about a millisecond, and is garbage soon. */
const largeBytesMax = 1024 * 1024;
const largeMs = 10;
/** Pause of large messages after one of the owner's messages was refused. */
const refusedMs = 2000;

export class ReadingShare {
  readonly #turn = new TurnBudget();
  /** Bytes of large messages since the last pause. */
  #largeBytes = 0;
  #pause: Promise<void> | null = null;

  /** Must be called before a chunk is read. */
  begin(): void {
    this.#turn.begin();
  }

  /** Must be called after a chunk. Resolves when its socket may read on; null: at once. `messageBytes`: received of its message. */
  end(bytes: number, messageBytes: number): Promise<void> | null {
    const isSpent = this.#turn.end();
    if (messageBytes > largeBytesMin) this.#largeBytes += bytes;
    if (this.#largeBytes >= largeBytesMax) this.#pauseLarge(largeMs);
    if (this.#pause && messageBytes > largeBytesMin) return this.#pause;
    return isSpent ? nextTurn() : null;
  }

  /** The owner has had too much of unfinished messages: whoever sends more in their place does not go on at once. */
  onRefused(): void {
    this.#pauseLarge(refusedMs);
  }

  #pauseLarge(ms: number): void {
    this.#largeBytes = 0;
    const pause = sleep(ms, undefined, { ref: false }).then(() => {
      if (this.#pause === pause) this.#pause = null;
    });
    this.#pause = pause;
  }
}
