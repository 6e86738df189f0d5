/** Still frames for workers without a video encoder: all JPEGs in one file, and an index of them in another. */
import { createWriteStream, type WriteStream } from 'node:fs';
import { join } from 'node:path';
import { finished } from 'node:stream/promises';
import type { EncoderEnd, EncoderExit, VideoEncoder } from '@berth/machines';
import type { Clock } from '@berth/lib/clock.ts';

export const framesName = 'frames.mjpeg';
export const frameIndexName = 'frames.ndjson';

/** A JPEG is as large as some seconds of video. */
export const stillFramesPerSecond = 2;
/** Unwritten data beyond this is dropped, so that a slow disk cannot fill the memory. */
const pendingBytesMax = 4 * 1024 * 1024;

export interface FrameLine {
  /** Milliseconds since the first frame. */
  t_ms: number;
  /** The byte offset in `frames.mjpeg`. */
  offset: number;
  length: number;
}

export interface FramesOptions {
  folder: string;
  clock: Clock;
  /** Monotonic time of the recording's first frame; null when there is none before these. */
  zeroMs: number | null;
  bytesMax: number;
}

const intervalMs = 1000 / stillFramesPerSecond;

/** A video encoder that stores JPEGs as they are. Frames above the rate are skipped; a frame's index line is written after the frame. */
export class Frames implements VideoEncoder {
  readonly exited: Promise<EncoderExit>;
  startedAtMs: number | null = null;
  readonly #options: FramesOptions;
  readonly #frames: WriteStream;
  readonly #index: WriteStream;
  readonly #exit = Promise.withResolvers<EncoderExit>();
  #bytes = 0;
  #ending: EncoderEnd | null = null;
  /** The newest frame, when it came before the next one is due. */
  #pendingFrame: Buffer | null = null;
  #timer: NodeJS.Timeout | undefined;
  #writtenMs = -Infinity;
  #zeroMs: number | null;

  constructor(options: FramesOptions) {
    this.#options = options;
    this.#zeroMs = options.zeroMs;
    const fileOptions = { flags: 'wx', mode: 0o600 };
    this.#frames = createWriteStream(join(options.folder, framesName), fileOptions);
    this.#index = createWriteStream(join(options.folder, frameIndexName), fileOptions);
    this.exited = this.#exit.promise;
    const written = Promise.all([finished(this.#frames), finished(this.#index)]);
    written.then(
      () => this.#exit.resolve({ end: this.#ending ?? 'broken', detail: '' }),
      (error: unknown) => this.#fail(error),
    );
  }

  get bytesWritten(): number {
    return this.#bytes;
  }

  write(jpeg: Buffer): boolean {
    if (this.#ending !== null || this.#frames.writableLength > pendingBytesMax) return false;
    this.#pendingFrame = jpeg;
    this.startedAtMs ??= this.#options.clock.now().getTime();
    const delayMs = this.#writtenMs + intervalMs - this.#options.clock.monotonicMs();
    if (delayMs <= 0) this.#writeNewest();
    else this.#timer ??= setTimeout(() => this.#writeNewest(), delayMs).unref();
    return true;
  }

  finish(): Promise<EncoderExit> {
    this.#writeNewest();
    this.#end('finished');
    return this.exited;
  }

  #writeNewest(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const jpeg = this.#pendingFrame;
    if (!jpeg || this.#ending !== null) return;
    this.#pendingFrame = null;
    const { clock, bytesMax } = this.#options;
    if (this.#bytes + jpeg.length > bytesMax) return this.#end('full');
    this.#writtenMs = clock.monotonicMs();
    this.#zeroMs ??= this.#writtenMs;
    const line: FrameLine = { t_ms: Math.round(this.#writtenMs - this.#zeroMs), offset: this.#bytes, length: jpeg.length };
    this.#bytes += jpeg.length;
    this.#frames.write(jpeg, (error) => {
      if (!error && !this.#index.destroyed) this.#index.write(`${JSON.stringify(line)}\n`);
    });
  }

  #end(end: EncoderEnd): void {
    if (this.#ending !== null) return;
    this.#ending = end;
    // The last index line is written after the last frame.
    this.#frames.end(() => this.#index.end());
  }

  #fail(error: unknown): void {
    clearTimeout(this.#timer);
    this.#ending = 'broken';
    this.#frames.destroy();
    this.#index.destroy();
    this.#exit.resolve({ end: 'broken', detail: String(error) });
  }
}
