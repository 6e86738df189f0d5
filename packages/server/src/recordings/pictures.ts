/** What is seen of a session: a video where there is an encoder, single pictures where there is none or it fails at once. */
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { RecordingVideo } from '@berth/contract';
import type { ScreencastDemand } from '../browser/browser.ts';
import type { Clock } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import type { EncoderExit, VideoEncoder, VideoEncoders } from '../runtime/runtime.ts';
import { hasFile, replaceFile, videoFolder } from './folder.ts';
import { Frames, picturesPerSecond } from './frames.ts';
import { closeVideo, playlistName } from './playlist.ts';
import { Poster, posterName } from './poster.ts';

export interface PicturesParts {
  recId: string;
  folder: string;
  /** null: single pictures. */
  encoders: Pick<VideoEncoders, 'start' | 'framesPerSecond'> | null;
  bytesMax: number;
  clock: Clock;
  log: Log;
  /** `full`: there is no room for more. `broken`: no more comes, and what there is stays. */
  onOver: (end: 'full' | 'broken') => void;
  /** Other frames are of use from now on. */
  onDemand: (demand: ScreencastDemand) => void;
}

/** Of the video; a page of another shape gets bars. */
const size = { width: 1280, height: 720 };
const quality = 70;
/** An encoder starts within a fraction of that. */
const openMsMax = 2000;
const endMsMax = 6000;

export class Pictures {
  readonly #parts: PicturesParts;
  readonly #opened: Promise<void>;
  readonly #poster = new Poster();
  #posterWritten: Promise<void> = Promise.resolve();
  #encoder: VideoEncoder | null = null;
  /** What the encoder has not taken yet, the newest only. */
  #pending: Buffer | null = null;
  #latest: Buffer | null = null;
  #zeroMs: number | null = null;
  #isPlayable = false;
  #isEnding = false;

  constructor(parts: PicturesParts) {
    this.#parts = parts;
    this.#opened = this.#open();
  }

  get demand(): ScreencastDemand {
    const { encoders } = this.#parts;
    const isVideo = encoders !== null && !(this.#encoder instanceof Frames);
    return {
      maxWidth: size.width,
      maxHeight: size.height,
      quality,
      framesPerSecond: isVideo ? encoders.framesPerSecond : picturesPerSecond,
    };
  }

  /** null until it can be played. */
  get video(): RecordingVideo | null {
    return this.#isPlayable ? this.#kind : null;
  }

  get bytes(): number {
    return this.#encoder?.bytesWritten ?? 0;
  }

  /** When the first picture was seen, on the clock that never jumps; null before that. */
  get zeroMs(): number | null {
    return this.#zeroMs;
  }

  add(jpeg: Buffer): void {
    if (this.#isEnding) return;
    // A viewer of another size makes the browser draw again what it has drawn before.
    this.#pending = this.#latest?.equals(jpeg) ? null : jpeg;
    this.#offer();
  }

  /** Offers again what was not taken, and sees whether there is something to play by now. */
  async look(): Promise<void> {
    this.#offer();
    if (this.#isPlayable) return;
    const { folder } = this.#parts;
    this.#isPlayable = this.#kind === 'frames' ? this.bytes > 0 : await hasFile(join(folder, videoFolder), playlistName);
  }

  /** Writes the rest, in bounded time. `video` is null where there is nothing to be seen. */
  async end(): Promise<{ video: RecordingVideo | null; isWhole: boolean }> {
    await Promise.race([this.#opened, wait(openMsMax, undefined, { ref: false })]);
    this.#offer();
    this.#isEnding = true;
    const encoder = this.#encoder;
    const exit = await encoder?.finish({ timeoutMs: endMsMax });
    await this.#posterWritten;
    if (!exit) return { video: null, isWhole: false };
    const isWhole = exit.end !== 'broken';
    if (encoder instanceof Frames) return { video: encoder.bytesWritten > 0 ? 'frames' : null, isWhole };
    return this.#closeVideo(isWhole);
  }

  async #closeVideo(isWhole: boolean): Promise<{ video: RecordingVideo | null; isWhole: boolean }> {
    const folder = join(this.#parts.folder, videoFolder);
    try {
      const playlist = await closeVideo(folder);
      return { video: playlist ? 'hls' : null, isWhole: isWhole && playlist?.wasWhole === true };
    } catch (error) {
      // What there is can be watched all the same.
      this.#parts.log.warn({ error, recording: this.#parts.recId }, 'the playlist of a video could not be closed');
      return { video: (await hasFile(folder, playlistName)) ? 'hls' : null, isWhole: false };
    }
  }

  get #kind(): RecordingVideo {
    return this.#encoder instanceof Frames ? 'frames' : 'hls';
  }

  async #open(): Promise<void> {
    const { encoders, folder, bytesMax, log, recId } = this.#parts;
    if (!encoders) return this.#keepFrames();
    try {
      const encoder = await encoders.start({ ...size, folder: join(folder, videoFolder), bytesMax, log });
      if (this.#isEnding) void encoder.finish({ timeoutMs: 0 });
      else this.#use(encoder);
    } catch (error) {
      log.warn({ error, recording: recId }, 'a video encoder could not be started: single pictures are kept');
      this.#keepFrames();
    }
  }

  #keepFrames(): void {
    const { folder, clock, bytesMax, onDemand } = this.#parts;
    if (this.#isEnding) return;
    this.#use(new Frames({ folder, clock, zeroMs: this.#zeroMs, bytesMax }));
    onDemand(this.demand);
  }

  #use(encoder: VideoEncoder): void {
    this.#encoder = encoder;
    void encoder.exited.then((exit) => this.#onExit(exit));
    this.#pending ??= this.#latest;
    this.#offer();
  }

  async #onExit({ end, detail }: EncoderExit): Promise<void> {
    const { folder, log, recId, onOver } = this.#parts;
    if (this.#isEnding || end === 'finished') return;
    if (end === 'full') return onOver('full');
    log.warn({ recording: recId, detail }, 'a video encoder ended by itself');
    const hasVideo = this.#kind === 'frames' || (await hasFile(join(folder, videoFolder), playlistName));
    if (this.#isEnding) return;
    if (hasVideo) onOver('broken');
    else this.#keepFrames();
  }

  #offer(): void {
    const jpeg = this.#pending;
    if (this.#isEnding || !jpeg || !this.#encoder?.write(jpeg)) return;
    this.#zeroMs ??= this.#parts.clock.monotonicMs();
    this.#pending = null;
    this.#latest = jpeg;
    const poster = this.#poster.offer(jpeg);
    if (poster) this.#posterWritten = this.#posterWritten.then(() => this.#writePoster(poster));
  }

  async #writePoster(jpeg: Buffer): Promise<void> {
    const { folder, log, recId } = this.#parts;
    await replaceFile(folder, posterName, jpeg).catch((error: unknown) =>
      log.warn({ error, recording: recId }, 'a poster could not be written'),
    );
  }
}
