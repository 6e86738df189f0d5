/** Single pictures in place of a video, where no encoder is: all JPEGs in one file, and where each of them lies in another. */
import { createWriteStream, type WriteStream } from 'node:fs';
import { join } from 'node:path';
import { finished } from 'node:stream/promises';
import type { EncoderEnd, EncoderExit, VideoEncoder } from '../runtime/runtime.ts';
import type { Clock } from '../lib/clock.ts';

export const picturesName = 'frames.mjpeg';
export const pictureIndexName = 'frames.ndjson';

/** Each is as large as some seconds of video. */
export const picturesPerSecond = 2;
/** What a slow disk has not taken yet; more is left out. */
const unwrittenBytesMax = 4 * 1024 * 1024;

export interface PictureLine {
  /** Since the first picture. */
  t_ms: number;
  /** Where it lies in the file of pictures. */
  offset: number;
  length: number;
}

export interface FramesOrder {
  folder: string;
  clock: Clock;
  /** Of the first picture on the clock that never jumps, where there was one before these. */
  zeroMs: number | null;
  bytesMax: number;
}

const intervalMs = 1000 / picturesPerSecond;

/** An encoder that encodes nothing. Pictures that come faster leave each other out; a line of the index is written when its picture is. */
export class Frames implements VideoEncoder {
  readonly exited: Promise<EncoderExit>;
  startedAtMs: number | null = null;
  readonly #order: FramesOrder;
  readonly #pictures: WriteStream;
  readonly #index: WriteStream;
  readonly #exit = Promise.withResolvers<EncoderExit>();
  #bytes = 0;
  #ending: EncoderEnd | null = null;
  /** What is seen now, where it came too early to be written. */
  #newest: Buffer | null = null;
  #later: NodeJS.Timeout | undefined;
  #writtenMs = -Infinity;
  #zeroMs: number | null;

  constructor(order: FramesOrder) {
    this.#order = order;
    this.#zeroMs = order.zeroMs;
    const options = { flags: 'wx', mode: 0o600 };
    this.#pictures = createWriteStream(join(order.folder, picturesName), options);
    this.#index = createWriteStream(join(order.folder, pictureIndexName), options);
    this.exited = this.#exit.promise;
    const written = Promise.all([finished(this.#pictures), finished(this.#index)]);
    written.then(
      () => this.#exit.resolve({ end: this.#ending ?? 'broken', detail: '' }),
      (error: unknown) => this.#break(error),
    );
  }

  get bytesWritten(): number {
    return this.#bytes;
  }

  write(jpeg: Buffer): boolean {
    if (this.#ending !== null || this.#pictures.writableLength > unwrittenBytesMax) return false;
    this.#newest = jpeg;
    this.startedAtMs ??= this.#order.clock.now().getTime();
    const waitMs = this.#writtenMs + intervalMs - this.#order.clock.monotonicMs();
    if (waitMs <= 0) this.#writeNewest();
    else this.#later ??= setTimeout(() => this.#writeNewest(), waitMs).unref();
    return true;
  }

  finish(): Promise<EncoderExit> {
    this.#writeNewest();
    this.#end('finished');
    return this.exited;
  }

  #writeNewest(): void {
    clearTimeout(this.#later);
    this.#later = undefined;
    const jpeg = this.#newest;
    if (!jpeg || this.#ending !== null) return;
    this.#newest = null;
    const { clock, bytesMax } = this.#order;
    if (this.#bytes + jpeg.length > bytesMax) return this.#end('full');
    this.#writtenMs = clock.monotonicMs();
    this.#zeroMs ??= this.#writtenMs;
    const line: PictureLine = { t_ms: Math.round(this.#writtenMs - this.#zeroMs), offset: this.#bytes, length: jpeg.length };
    this.#bytes += jpeg.length;
    this.#pictures.write(jpeg, (error) => {
      if (!error && !this.#index.destroyed) this.#index.write(`${JSON.stringify(line)}\n`);
    });
  }

  #end(end: EncoderEnd): void {
    if (this.#ending !== null) return;
    this.#ending = end;
    // The last picture's line comes after the last picture.
    this.#pictures.end(() => this.#index.end());
  }

  #break(error: unknown): void {
    clearTimeout(this.#later);
    this.#ending = 'broken';
    this.#pictures.destroy();
    this.#index.destroy();
    this.#exit.resolve({ end: 'broken', detail: String(error) });
  }
}
