/** The timeline file. Lines are written as events happen, so a crash loses at most the last one. */
import { createWriteStream, type WriteStream } from 'node:fs';
import { finished } from 'node:stream/promises';
import type { Clock } from '@berth/lib/clock.ts';
import { redactData } from './redact.ts';

export const timelineName = 'events.ndjson';

/** The player holds all lines in memory. */
const linesMax = 20_000;
const bytesMax = 8 * 1024 * 1024;
/** Share for console and network lines, so that a noisy page leaves room for other events. */
const chatterShare = 0.7;

export interface TimelineLine {
  /** Position in the video; 0 before the first frame. */
  t_ms: number;
  at: string;
  type: string;
  data: Record<string, unknown>;
}

interface TimelineOptions {
  clock: Clock;
  zeroMs: () => number | null;
  /** Replaces what the session knows as secrets; whole, before a text is cut. */
  mask?: <T>(value: T) => T;
}

export class Timeline {
  readonly #clock: Clock;
  readonly #zeroMs: () => number | null;
  readonly #mask: <T>(value: T) => T;
  readonly #file: WriteStream;
  readonly #closed: Promise<boolean>;
  #lines = 0;
  #bytes = 0;
  #isFull = false;
  #isChatterFull = false;
  #hasEnded = false;

  /** `zeroMs` returns the first frame's monotonic time, or null before it. The file must not exist. */
  constructor(path: string, { clock, zeroMs, mask = (value) => value }: TimelineOptions) {
    this.#clock = clock;
    this.#zeroMs = zeroMs;
    this.#mask = mask;
    this.#file = createWriteStream(path, { flags: 'ax', mode: 0o600 });
    this.#closed = finished(this.#file).then(
      () => true,
      () => false,
    );
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** `chatter`: events that a page can produce by the thousand. */
  add(type: string, data: Readonly<Record<string, unknown>>, { chatter = false }: { chatter?: boolean } = {}): void {
    if (this.#hasEnded || this.#isFull || (chatter && this.#isChatterFull)) return;
    const share = chatter ? chatterShare : 1;
    if (this.#lines < share * linesMax && this.#bytes < share * bytesMax) return this.#write(type, redactData(this.#mask(data)));
    if (chatter) this.#isChatterFull = true;
    else this.#isFull = true;
    this.#write('timeline.truncated', { left_out: chatter ? 'console and network' : 'all' });
  }

  /** Closes the file. Resolves to whether all lines were written. Idempotent. */
  end(): Promise<boolean> {
    if (!this.#hasEnded) this.#file.end();
    this.#hasEnded = true;
    return this.#closed;
  }

  #write(type: string, data: Record<string, unknown>): void {
    const nowMs = this.#clock.monotonicMs();
    const line: TimelineLine = { t_ms: Math.round(nowMs - (this.#zeroMs() ?? nowMs)), at: this.#clock.now().toISOString(), type, data };
    const text = `${JSON.stringify(line)}\n`;
    this.#lines += 1;
    this.#bytes += Buffer.byteLength(text);
    // After a write error the file is destroyed.
    if (!this.#file.destroyed) this.#file.write(text);
  }
}
