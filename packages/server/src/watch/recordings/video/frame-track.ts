/** The visual track of a recording: a video when there is an encoder, still frames when there is none or it fails at once. */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RecordingVideo } from '@berth/contract';
import type { ScreencastClient, ScreencastDemand, ScreencastFrame } from '@berth/devtools';
import type { Clock } from '@berth/lib/clock.ts';
import type { Log } from '@berth/lib/log.ts';
import type { EncoderExit, VideoEncoder, VideoEncoders } from '@berth/machines';
import { hasFile, replaceFile, videoFolder } from '../files/folder.ts';
import { Frames, stillFramesPerSecond } from './frames.ts';
import { closeVideo, playlistName } from './playlist.ts';
import { deflateRawSync } from 'node:zlib';

export interface FrameTrackDeps {
  recId: string;
  folder: string;
  /** null: still frames. */
  encoders: Pick<VideoEncoders, 'start' | 'framesPerSecond'> | null;
  bytesMax: number;
  clock: Clock;
  log: Log;
  /** `full`: the size limit is reached. `broken`: the encoder failed; what it wrote is kept. */
  onEnd: (end: 'full' | 'broken') => void;
  /** Called when the required frame rate or size changes. */
  onDemand: () => void;
}

/** Size of the video. Pages with another aspect ratio are letterboxed. */
const size = { width: 1280, height: 720 };
const quality = 70;
/** Encoders usually start in a fraction of this. */
const startTimeoutMs = 2000;
/** Encoders have a low priority: on a busy worker the last segment takes seconds. */
const finishTimeoutMs = 30_000;
const hurriedTimeoutMs = 6000;

export class FrameTrack implements ScreencastClient {
  readonly #deps: FrameTrackDeps;
  readonly #encoderStarted: Promise<void>;
  readonly #poster = new Poster();
  #posterWritten: Promise<void> = Promise.resolve();
  #encoder: VideoEncoder | null = null;
  /** The newest frame that the encoder has not accepted. */
  #pending: Buffer | null = null;
  #latest: Buffer | null = null;
  #zeroMs: number | null = null;
  #isPlayable = false;
  #isEnding = false;
  #finishMs = finishTimeoutMs;

  constructor(deps: FrameTrackDeps) {
    this.#deps = deps;
    this.#encoderStarted = this.#startEncoder();
  }

  demand(): ScreencastDemand {
    const { encoders } = this.#deps;
    const isVideo = encoders !== null && !(this.#encoder instanceof Frames);
    return {
      maxWidth: size.width,
      maxHeight: size.height,
      quality,
      framesPerSecond: isVideo ? encoders.framesPerSecond : stillFramesPerSecond,
    };
  }

  /** null until there is something to play. */
  get video(): RecordingVideo | null {
    return this.#isPlayable ? this.#kind : null;
  }

  get bytes(): number {
    return this.#encoder?.bytesWritten ?? 0;
  }

  /** Monotonic time of the first frame; null before that. */
  get zeroMs(): number | null {
    return this.#zeroMs;
  }

  /** Always: an encoder that is behind or has not started gets the newest frame later, also after the screencast has ended. */
  isReady(): boolean {
    return true;
  }

  onFrame({ data: jpeg }: ScreencastFrame): void {
    if (this.#isEnding) return;
    // A viewer of another size makes the browser repeat the same frame.
    this.#pending = this.#latest?.equals(jpeg) ? null : jpeg;
    this.#writePending();
  }

  /** Retries the pending frame and updates whether there is something to play. */
  async refresh(): Promise<void> {
    this.#writePending();
    if (this.#isPlayable) return;
    const { folder } = this.#deps;
    this.#isPlayable = this.#kind === 'frames' ? this.bytes > 0 : await hasFile(join(folder, videoFolder), playlistName);
  }

  /** Finishes writing, in bounded time. `video` is null when no frame was recorded. */
  async end(): Promise<{ video: RecordingVideo | null; isVideoComplete: boolean }> {
    await Promise.race([this.#encoderStarted, sleep(startTimeoutMs, undefined, { ref: false })]);
    this.#writePending();
    this.#isEnding = true;
    const encoder = this.#encoder;
    const exit = await encoder?.finish({ timeoutMs: this.#finishMs });
    await this.#posterWritten;
    if (!exit) return { video: null, isVideoComplete: false };
    const isVideoComplete = exit.end !== 'broken';
    if (encoder instanceof Frames) return { video: encoder.bytesWritten > 0 ? 'frames' : null, isVideoComplete };
    return this.#closeVideo(isVideoComplete);
  }

  /** Gives the encoder less time to finish, also when it is finishing. */
  hurry(): void {
    this.#finishMs = hurriedTimeoutMs;
    if (this.#isEnding) void this.#encoder?.finish({ timeoutMs: hurriedTimeoutMs });
  }

  async #closeVideo(isVideoComplete: boolean): Promise<{ video: RecordingVideo | null; isVideoComplete: boolean }> {
    const folder = join(this.#deps.folder, videoFolder);
    try {
      const playlist = await closeVideo(folder);
      return { video: playlist ? 'hls' : null, isVideoComplete: isVideoComplete && playlist?.wasComplete === true };
    } catch (error) {
      // The existing segments can still be played.
      this.#deps.log.warn({ err: error, recording: this.#deps.recId }, 'video playlist close failed');
      return { video: (await hasFile(folder, playlistName)) ? 'hls' : null, isVideoComplete: false };
    }
  }

  get #kind(): RecordingVideo {
    return this.#encoder instanceof Frames ? 'frames' : 'hls';
  }

  async #startEncoder(): Promise<void> {
    const { encoders, folder, bytesMax, log, recId } = this.#deps;
    if (!encoders) return this.#fallBackToFrames();
    try {
      const encoder = await encoders.start({ ...size, folder: join(folder, videoFolder), bytesMax, log });
      if (this.#isEnding) void encoder.finish({ timeoutMs: 0 });
      else this.#useEncoder(encoder);
    } catch (error) {
      log.warn({ err: error, recording: recId }, 'video encoder start failed, still frames recorded');
      this.#fallBackToFrames();
    }
  }

  #fallBackToFrames(): void {
    const { folder, clock, bytesMax, onDemand } = this.#deps;
    if (this.#isEnding) return;
    this.#useEncoder(new Frames({ folder, clock, zeroMs: this.#zeroMs, bytesMax }));
    onDemand();
  }

  #useEncoder(encoder: VideoEncoder): void {
    this.#encoder = encoder;
    void encoder.exited.then((exit) => this.#onExit(exit));
    this.#pending ??= this.#latest;
    this.#writePending();
  }

  async #onExit({ end, detail }: EncoderExit): Promise<void> {
    const { folder, log, recId, onEnd } = this.#deps;
    if (this.#isEnding || end === 'finished') return;
    if (end === 'full') return onEnd('full');
    log.warn({ recording: recId, detail }, 'video encoder exited');
    const hasVideo = this.#kind === 'frames' || (await hasFile(join(folder, videoFolder), playlistName));
    if (this.#isEnding) return;
    if (hasVideo) onEnd('broken');
    else this.#fallBackToFrames();
  }

  #writePending(): void {
    const jpeg = this.#pending;
    if (this.#isEnding || !jpeg || !this.#encoder?.write(jpeg)) return;
    this.#zeroMs ??= this.#deps.clock.monotonicMs();
    this.#pending = null;
    this.#latest = jpeg;
    const poster = this.#poster.offer(jpeg);
    if (poster) this.#posterWritten = this.#posterWritten.then(() => this.#writePoster(poster));
  }

  async #writePoster(jpeg: Buffer): Promise<void> {
    const { folder, log, recId } = this.#deps;
    await replaceFile(folder, posterName, jpeg).catch((error: unknown) =>
      log.warn({ err: error, recording: recId }, 'poster write failed'),
    );
  }
}

const posterName = 'poster.jpg';

/** The JPEG of a blank page compresses to little more than its tables. */
const emptyBytesMax = 2048;
/** Stop looking after this many blank frames. */
const candidatesMax = 100;

export class Poster {
  #best: { jpeg: Buffer; contentBytes: number } | null = null;
  #candidates = 0;

  /** Returns the JPEG if it is a better poster than all before it, else null. */
  offer(jpeg: Buffer): Buffer | null {
    if (this.#candidates >= candidatesMax || (this.#best && this.#best.contentBytes > emptyBytesMax)) return null;
    this.#candidates += 1;
    const contentBytes = deflateRawSync(jpeg, { level: 1 }).length;
    if (this.#best && contentBytes <= this.#best.contentBytes) return null;
    this.#best = { jpeg, contentBytes };
    return jpeg;
  }
}
