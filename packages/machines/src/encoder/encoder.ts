/**
 * Screen frames to video: one ffmpeg process per recording, each in its own jail.
 *
 * The input comes from a machine that may be hostile, so ffmpeg has no network,
 * its own user, and sees only programs and one folder. The content of that
 * folder is as untrusted as the machine.
 */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { constants, lstat, mkdtemp, open, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Writable } from 'node:stream';
import { canRun } from '@berth/lib/can-run.ts';
import { systemClock, type Clock } from '@berth/lib/clock.ts';
import type { Log } from '@berth/lib/log.ts';
import { isRoot, newUid } from '../host/users.ts';
import {
  collectTail,
  framesPerSecond,
  ivfFrameHeader,
  ivfHeader,
  killFfmpeg,
  spawnFfmpeg,
  trialArguments,
  videoArguments,
  type FfmpegCommandOptions,
} from './ffmpeg.ts';

export interface EncoderOptions {
  /**
   * Output folder: empty, created by the caller and used for nothing else. While the encoder runs it belongs to the
   * encoder's user, afterwards to the worker again; its files stay the encoder's.
   *
   * Holds `video.m3u8` (an event playlist, replaced atomically, that ends in `#EXT-X-ENDLIST` after `finish`),
   * `init.mp4` and `seg00000.m4s` onwards, about 4 s each; the first appears within about 5 s. Every file that the
   * playlist names is complete. Open files with O_NOFOLLOW and accept only regular ones.
   */
  folder: string;
  /** Size of the video in pixels, rounded down to even numbers. Frames of other sizes are scaled to fit, with bars. */
  width: number;
  height: number;
  /** The encoder finishes when the folder holds this many bytes. */
  bytesMax: number;
  log: Log;
}

export type EncoderEnd =
  /** `finish` was called: the playlist is closed. */
  | 'finished'
  /** The folder reached `bytesMax`: the playlist is closed as well. */
  | 'full'
  /** ffmpeg exited on its own or was killed: the playlist may be missing or not closed. */
  | 'broken';

export interface VideoEncoder {
  /**
   * Shows a JPEG from now on, until the next one. Returns false when the frame was dropped because the encoder is
   * behind or has ended. Never throws.
   */
  write(jpeg: Buffer): boolean;
  /** Epoch ms of second 0 of the video, which is when the first frame was written; null before that. */
  readonly startedAtMs: number | null;
  /** Bytes in the folder. Some seconds old while the encoder runs, exact after it has exited. */
  readonly bytesWritten: number;
  /** Ends the video with the current frame. Kills the encoder after the shortest `timeoutMs` of its callers, who share one promise. Never rejects. */
  finish(options: { timeoutMs: number }): Promise<EncoderExit>;
  /** Resolves when the process has exited and the folder belongs to the worker again. Never rejects. */
  readonly exited: Promise<EncoderExit>;
}

export interface EncoderExit {
  end: EncoderEnd;
  /** Exit code, signal and last log lines of ffmpeg. For our log, never for a caller. */
  detail: string;
}

export interface VideoEncoders {
  /** Frame rate of the video. Of frames that arrive faster the newest is kept; slower ones are repeated. */
  readonly framesPerSecond: number;
  /** Shown to the operator: encoders without a jail. */
  readonly warnings: readonly string[];
  /** @throws when the process cannot be started; the folder then belongs to the worker. */
  start(options: EncoderOptions): Promise<VideoEncoder>;
}

interface VideoEncodersOptions {
  log: Log;
  clock?: Clock;
  ffmpegPath?: string;
  /** `none` starts ffmpeg as another user without a jail. */
  jail?: 'auto' | 'none';
  /** Time for its test. */
  trialMs?: number;
}

/** Its libraries may have to be read from a cold disk, beside other work. */
const trialMsMax = 20_000;

/** Tests ffmpeg once. Returns null where it is missing or cannot encode video. */
export async function createVideoEncoders(options: VideoEncodersOptions): Promise<VideoEncoders | null> {
  const { log, clock = systemClock, ffmpegPath = '/usr/bin/ffmpeg', jail = 'auto', trialMs = trialMsMax } = options;
  if (!canRun(ffmpegPath)) return null;
  const noJail = jail === 'none' ? 'disabled by configuration' : await trialRun({ ffmpegPath, jailed: true }, trialMs);
  const jailed = noJail === null;
  const problem = jailed ? null : await trialRun({ ffmpegPath, jailed }, trialMs);
  if (problem !== null) {
    log.warn({ problem }, 'video encoding unavailable: recordings have no video');
    return null;
  }
  const warnings = jailed
    ? []
    : [`Recordings are encoded without a jail (${noJail}): the encoder can read every file that is readable by all users of this host.`];
  for (const warning of warnings) log.warn({ warning }, 'recording isolation reduced');
  return { framesPerSecond, warnings, start: (options) => startEncoder(options, { ffmpegPath, jailed, clock }) };
}

/** Returns what failed, or null. What takes too long has not failed: an overloaded host must not cost the jail. */
async function trialRun(options: Pick<FfmpegCommandOptions, 'ffmpegPath' | 'jailed'>, trialMs: number): Promise<string | null> {
  const folder = await mkdtemp(join(tmpdir(), 'berth-encoder-'));
  try {
    const uid = newUid();
    await changeOwner(folder, uid);
    const child = spawnFfmpeg({ ...options, folder, uid }, trialArguments);
    const readTail = collectTail(child);
    child.stdin?.on('error', () => {}).end();
    let isSlow = false;
    const timer = setTimeout(() => {
      isSlow = true;
      killFfmpeg(child);
    }, trialMs);
    const code = await new Promise<number | null>((resolve) => child.once('error', () => resolve(null)).once('close', resolve));
    clearTimeout(timer);
    return code === 0 || isSlow ? null : readTail() || `code ${code}`;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function startEncoder(
  options: EncoderOptions,
  { ffmpegPath, jailed, clock }: Pick<FfmpegCommandOptions, 'ffmpegPath' | 'jailed'> & { clock: Clock },
): Promise<VideoEncoder> {
  const { folder } = options;
  // YUV 4:2:0 needs even sizes.
  const even = { ...options, width: options.width & ~1, height: options.height & ~1 };
  const uid = newUid();
  await changeOwner(folder, uid);
  const release = (): Promise<void> => changeOwner(folder, process.getuid?.() ?? 0);
  const child = spawnFfmpeg({ ffmpegPath, jailed, uid, folder }, videoArguments(even));
  try {
    await once(child, 'spawn');
  } catch (error) {
    await release();
    throw error;
  }
  return new FfmpegEncoder(child, { options: even, clock, release });
}

async function changeOwner(folder: string, uid: number): Promise<void> {
  const handle = await open(folder, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  try {
    await handle.chmod(0o700);
    if (isRoot()) await handle.chown(uid, uid);
  } finally {
    await handle.close();
  }
}

const frameMs = 1000 / framesPerSecond;
/** A frame that does not change is sent again, so that segments end in time. */
const repeatMs = 1000;
/** Input buffered for the encoder: about a second of frames. */
const backlogBytesMax = 1024 ** 2;
const measureMs = 2000;
/** Added to the interval for each file: an hour of video is a thousand files. */
const measureMsPerFile = 20;
/** A folder that exceeds its limit by this much is not filled by video: the encoder is killed. */
const excessBytesMax = 64 * 1024 ** 2;
/** Time to write the last segment of a full folder. */
const fullMsMax = 10_000;
/** Smallest disk usage of a file. */
const blockBytes = 4096;

interface FfmpegDeps {
  options: Pick<EncoderOptions, 'folder' | 'width' | 'height' | 'bytesMax' | 'log'>;
  clock: Clock;
  /** Gives the folder back to the worker, after the process has exited. */
  release: () => Promise<void>;
}

class FfmpegEncoder implements VideoEncoder {
  readonly exited: Promise<EncoderExit>;
  startedAtMs: number | null = null;
  bytesWritten = 0;

  readonly #child: ChildProcess;
  readonly #input: Writable;
  readonly #deps: FfmpegDeps;
  /** Monotonic ms of the first frame, and of the last one sent. */
  #startMs = 0;
  #sentMs = 0;
  #frame: Buffer | null = null;
  #sendTimer: NodeJS.Timeout | undefined;
  #measureTimer: NodeJS.Timeout | undefined;
  /** Set once the input has been closed on purpose. */
  #ending: Exclude<EncoderEnd, 'broken'> | null = null;
  #hasEnded = false;

  /** `child` has just been started. */
  constructor(child: ChildProcess, deps: FfmpegDeps) {
    this.#child = child;
    this.#deps = deps;
    if (!child.stdin) throw new Error('ffmpeg was started without an input');
    this.#input = child.stdin;
    // A broken pipe shows as the exit.
    this.#input.on('error', () => {});
    child.on('error', () => {});
    this.#input.write(ivfHeader(deps.options));
    this.exited = this.#watchExit(collectTail(child));
    this.#scheduleMeasure(measureMs);
  }

  write(jpeg: Buffer): boolean {
    if (this.#ending || this.#hasEnded || this.#input.writableLength > backlogBytesMax) return false;
    this.#frame = jpeg;
    const now = this.#deps.clock.monotonicMs();
    if (this.startedAtMs === null) {
      this.startedAtMs = this.#deps.clock.now().getTime();
      this.#startMs = now;
      this.#send();
    } else this.#sendIn(Math.max(0, this.#sentMs + frameMs - now));
    return true;
  }

  finish({ timeoutMs }: { timeoutMs: number }): Promise<EncoderExit> {
    return this.#finish('finished', timeoutMs);
  }

  #finish(why: Exclude<EncoderEnd, 'broken'>, timeoutMs: number): Promise<EncoderExit> {
    if (this.#hasEnded) return this.exited;
    if (!this.#ending) {
      this.#ending = why;
      clearTimeout(this.#sendTimer);
      if (this.#frame) this.#writeFrame(this.#frame);
      this.#input.end();
    }
    const timer = setTimeout(() => killFfmpeg(this.#child), timeoutMs);
    void this.exited.then(() => clearTimeout(timer));
    return this.exited;
  }

  /** Sends the frame that is newest at that time. */
  #sendIn(ms: number): void {
    clearTimeout(this.#sendTimer);
    this.#sendTimer = setTimeout(() => this.#send(), ms).unref();
  }

  #send(): void {
    if (this.#frame && this.#input.writableLength <= backlogBytesMax) this.#writeFrame(this.#frame);
    this.#sendIn(repeatMs);
  }

  #writeFrame(jpeg: Buffer): void {
    this.#sentMs = this.#deps.clock.monotonicMs();
    this.#input.cork();
    this.#input.write(ivfFrameHeader(jpeg.length, Math.round(this.#sentMs - this.#startMs)));
    this.#input.write(jpeg);
    this.#input.uncork();
  }

  #scheduleMeasure(ms: number): void {
    this.#measureTimer = setTimeout(() => void this.#checkSize(), ms).unref();
  }

  async #checkSize(): Promise<void> {
    const { folder, bytesMax, log } = this.#deps.options;
    const { bytes, files } = await measureFolder(folder);
    if (this.#hasEnded) return;
    this.bytesWritten = bytes;
    if (bytes >= bytesMax + excessBytesMax) {
      log.warn({ bytes, files }, 'encoder killed: folder limit exceeded');
      killFfmpeg(this.#child);
    } else if (bytes >= bytesMax) void this.#finish('full', fullMsMax);
    this.#scheduleMeasure(Math.max(measureMs, files * measureMsPerFile));
  }

  async #watchExit(readTail: () => string): Promise<EncoderExit> {
    const { code, signal } = await new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve) => {
      this.#child.once('exit', (code, signal) => resolve({ code, signal }));
    });
    this.#hasEnded = true;
    this.#frame = null;
    clearTimeout(this.#sendTimer);
    clearTimeout(this.#measureTimer);
    this.#input.destroy();
    this.#child.stderr?.destroy();
    const { options, release } = this.#deps;
    await release().catch((error: unknown) => options.log.warn({ err: error }, 'video folder not returned to the worker'));
    this.bytesWritten = (await measureFolder(options.folder)).bytes;
    const detail = `${signal ? `signal ${signal}` : `code ${code}`}\n${readTail()}`.trim();
    return { end: code === 0 && this.#ending ? this.#ending : 'broken', detail };
  }
}

/** Reads names and sizes only, and follows no links. */
async function measureFolder(folder: string): Promise<{ bytes: number; files: number }> {
  const names = await readdir(folder).catch(() => []);
  let bytes = 0;
  for (const name of names) bytes += Math.max(blockBytes, (await lstat(join(folder, name)).catch(() => null))?.size ?? 0);
  return { bytes, files: names.length };
}
