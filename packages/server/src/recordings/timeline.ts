/** What happened, line by line as it happens: a worker that dies leaves all but perhaps the last line. */
import { createWriteStream, type WriteStream } from 'node:fs';
import { finished } from 'node:stream/promises';
import type { Clock } from '../lib/clock.ts';
import { shownData } from './redact.ts';

export const timelineName = 'events.ndjson';

/** A person can look through some hundreds; a player holds all of them at once. */
const linesMax = 20_000;
const bytesMax = 8 * 1024 * 1024;
/** What pages do by themselves leaves room for what is done with them. */
const chatterShare = 0.7;

export interface TimelineLine {
  /** Its place in what is seen; 0 before there is a picture. */
  t_ms: number;
  at: string;
  type: string;
  data: Record<string, unknown>;
}

export class Timeline {
  readonly #clock: Clock;
  readonly #zeroMs: () => number | null;
  readonly #file: WriteStream;
  readonly #closed: Promise<boolean>;
  #lines = 0;
  #bytes = 0;
  #isFull = false;
  #isChatterFull = false;
  #isOver = false;

  /** `zeroMs`: the first picture's time on the clock that never jumps, null before there is one. The file must not be there. */
  constructor(path: string, { clock, zeroMs }: { clock: Clock; zeroMs: () => number | null }) {
    this.#clock = clock;
    this.#zeroMs = zeroMs;
    this.#file = createWriteStream(path, { flags: 'ax', mode: 0o600 });
    this.#closed = finished(this.#file).then(
      () => true,
      () => false,
    );
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** `chatter`: what a page can make come by the thousand. */
  add(type: string, data: Readonly<Record<string, unknown>>, { chatter = false }: { chatter?: boolean } = {}): void {
    if (this.#isOver || this.#isFull || (chatter && this.#isChatterFull)) return;
    const share = chatter ? chatterShare : 1;
    if (this.#lines < share * linesMax && this.#bytes < share * bytesMax) return this.#write(type, shownData(data));
    if (chatter) this.#isChatterFull = true;
    else this.#isFull = true;
    this.#write('timeline.truncated', { left_out: chatter ? 'console and network' : 'all' });
  }

  /** Resolves when all is in the file: with false where it is not. Idempotent. */
  end(): Promise<boolean> {
    if (!this.#isOver) this.#file.end();
    this.#isOver = true;
    return this.#closed;
  }

  #write(type: string, data: Record<string, unknown>): void {
    const nowMs = this.#clock.monotonicMs();
    const line: TimelineLine = { t_ms: Math.round(nowMs - (this.#zeroMs() ?? nowMs)), at: this.#clock.now().toISOString(), type, data };
    const text = `${JSON.stringify(line)}\n`;
    this.#lines += 1;
    this.#bytes += Buffer.byteLength(text);
    // What cannot be written any more has told so by an error.
    if (!this.#file.destroyed) this.#file.write(text);
  }
}
