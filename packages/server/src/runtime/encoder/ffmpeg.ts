/** One ffmpeg at work: frames in, at its own pace, until somebody or something ends it. */
import { spawn, type ChildProcess } from 'node:child_process';
import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Writable } from 'node:stream';
import type { Clock } from '../../lib/clock.ts';
import { encoderCommand, framesPerSecond, type EncoderPlace } from './command.ts';
import type { EncoderEnd, EncoderExit, EncoderOrder, VideoEncoder } from './model.ts';
import { childrenOf, sendSignal } from '../host/processes.ts';
import { ivfFrameHeader, ivfHeader } from './ivf.ts';

const frameMs = 1000 / framesPerSecond;
/** A picture that does not change is sent again, so that segments end in time. */
const repeatMs = 1000;
/** What may wait for the encoder: a second's worth of pictures. */
const backlogBytesMax = 1024 ** 2;
const measureMs = 2000;
/** Of the time between measurements, for each file: an hour of video is a thousand of them. */
const measureMsPerFile = 20;
/** A folder that outgrows its bound by this is filled by something else than a video. */
const excessBytesMax = 64 * 1024 ** 2;
/** For the last segment of a folder that is full. */
const fullMsMax = 10_000;
const logTailBytes = 4096;
/** The least that a file takes, however little is in it. */
const blockBytes = 4096;

/** In a session of its own: a signal from the terminal ends the worker, and that its encoders. */
export function spawnFfmpeg(place: EncoderPlace, args: string[]): ChildProcess {
  const command = encoderCommand(place, args);
  const env = { PATH: '/usr/bin:/bin', LANG: 'C.UTF-8' };
  return spawn(command.program, command.args, { cwd: command.cwd, env, detached: true, stdio: ['pipe', 'ignore', 'pipe'] });
}

/** In a jail the first process inside is killed, and the outer one left to see it: when that ends, nothing is left. */
export function killFfmpeg(child: ChildProcess): void {
  const inner = child.pid === undefined ? [] : childrenOf(child.pid);
  if (inner.length === 0) child.kill('SIGKILL');
  for (const pid of inner) sendSignal(pid, 'SIGKILL');
}

/** The last lines of what it says. */
export function keepTail(child: ChildProcess): () => string {
  let tail = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    tail = (tail + text).slice(-logTailBytes);
  });
  return () => tail.trim();
}

export interface FfmpegParts {
  order: Pick<EncoderOrder, 'folder' | 'width' | 'height' | 'bytesMax' | 'log'>;
  clock: Clock;
  /** Takes the folder back, once nothing can write to it any more. */
  release: () => Promise<void>;
}

export class Ffmpeg implements VideoEncoder {
  readonly exited: Promise<EncoderExit>;
  startedAtMs: number | null = null;
  bytesWritten = 0;

  readonly #child: ChildProcess;
  readonly #frames: Writable;
  readonly #parts: FfmpegParts;
  /** Monotonic ms of the first frame, and of the last one sent. */
  #zeroMs = 0;
  #sentMs = 0;
  #shown: Buffer | null = null;
  #pace: NodeJS.Timeout | undefined;
  #measure: NodeJS.Timeout | undefined;
  /** Why it is ending, when it is told to. */
  #ending: Exclude<EncoderEnd, 'broken'> | null = null;
  #isOver = false;

  /** Takes a process that has just been started. */
  constructor(child: ChildProcess, parts: FfmpegParts) {
    this.#child = child;
    this.#parts = parts;
    if (!child.stdin) throw new Error('ffmpeg was started without an input');
    this.#frames = child.stdin;
    // A pipe that breaks is told by the exit.
    this.#frames.on('error', () => {});
    child.on('error', () => {});
    this.#frames.write(ivfHeader(parts.order));
    this.exited = this.#watchExit(keepTail(child));
    this.#measureIn(measureMs);
  }

  write(jpeg: Buffer): boolean {
    if (this.#ending || this.#isOver || this.#frames.writableLength > backlogBytesMax) return false;
    this.#shown = jpeg;
    const now = this.#parts.clock.monotonicMs();
    if (this.startedAtMs === null) {
      this.startedAtMs = this.#parts.clock.now().getTime();
      this.#zeroMs = now;
      this.#send();
    } else this.#sendIn(Math.max(0, this.#sentMs + frameMs - now));
    return true;
  }

  finish({ timeoutMs }: { timeoutMs: number }): Promise<EncoderExit> {
    return this.#finish('finished', timeoutMs);
  }

  #finish(why: Exclude<EncoderEnd, 'broken'>, timeoutMs: number): Promise<EncoderExit> {
    if (this.#ending || this.#isOver) return this.exited;
    this.#ending = why;
    clearTimeout(this.#pace);
    if (this.#shown) this.#writeFrame(this.#shown);
    this.#frames.end();
    const timer = setTimeout(() => killFfmpeg(this.#child), timeoutMs);
    void this.exited.then(() => clearTimeout(timer));
    return this.exited;
  }

  /** The newest frame that is known then. */
  #sendIn(ms: number): void {
    clearTimeout(this.#pace);
    this.#pace = setTimeout(() => this.#send(), ms).unref();
  }

  #send(): void {
    if (this.#shown && this.#frames.writableLength <= backlogBytesMax) this.#writeFrame(this.#shown);
    this.#sendIn(repeatMs);
  }

  #writeFrame(jpeg: Buffer): void {
    this.#sentMs = this.#parts.clock.monotonicMs();
    this.#frames.cork();
    this.#frames.write(ivfFrameHeader(jpeg.length, Math.round(this.#sentMs - this.#zeroMs)));
    this.#frames.write(jpeg);
    this.#frames.uncork();
  }

  #measureIn(ms: number): void {
    this.#measure = setTimeout(() => void this.#keepBound(), ms).unref();
  }

  async #keepBound(): Promise<void> {
    const { folder, bytesMax, log } = this.#parts.order;
    const { bytes, files } = await measureFolder(folder);
    if (this.#isOver) return;
    this.bytesWritten = bytes;
    if (bytes >= bytesMax + excessBytesMax) {
      log.warn({ bytes, files }, 'an encoder was killed: it wrote more than it may');
      killFfmpeg(this.#child);
    } else if (bytes >= bytesMax) void this.#finish('full', fullMsMax);
    this.#measureIn(Math.max(measureMs, files * measureMsPerFile));
  }

  async #watchExit(saidLast: () => string): Promise<EncoderExit> {
    const { code, signal } = await new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve) => {
      this.#child.once('exit', (code, signal) => resolve({ code, signal }));
    });
    this.#isOver = true;
    this.#shown = null;
    clearTimeout(this.#pace);
    clearTimeout(this.#measure);
    this.#frames.destroy();
    this.#child.stderr?.destroy();
    const { order, release } = this.#parts;
    await release().catch((error: unknown) => order.log.warn({ error }, 'the folder of a video was not taken back'));
    this.bytesWritten = (await measureFolder(order.folder)).bytes;
    const detail = `${signal ? `signal ${signal}` : `code ${code}`}\n${saidLast()}`.trim();
    return { end: code === 0 && this.#ending ? this.#ending : 'broken', detail };
  }
}

/** Looks at names and sizes alone, through no link. */
async function measureFolder(folder: string): Promise<{ bytes: number; files: number }> {
  const names = await readdir(folder).catch(() => []);
  let bytes = 0;
  for (const name of names) bytes += Math.max(blockBytes, (await lstat(join(folder, name)).catch(() => null))?.size ?? 0);
  return { bytes, files: names.length };
}
