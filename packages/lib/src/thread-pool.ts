/** Threads with limits for work on hostile input, which costs this process neither time nor memory. Owners take turns. */
import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { Piscina } from 'piscina';
import { FairLane } from './turns/fair-lane.ts';
import { LaneFullError, LaneTimeoutError } from './turns/lanes.ts';
import type { Log } from './log.ts';

/** `busy`: too much work waits, or this one waited too long. A retry may succeed. `failed`: also where the thread could not be started. */
export type ThreadFailure = 'too_large' | 'timeout' | 'busy' | 'failed';

export class ThreadError extends Error {
  readonly reason: ThreadFailure;

  constructor(reason: ThreadFailure, options?: ErrorOptions) {
    super(`the work of a thread failed: ${reason}`, options);
    this.name = 'ThreadError';
    this.reason = reason;
  }
}

/** The worker posts a message to `started` when it begins. */
export interface Started {
  started: MessagePort;
}

export interface ThreadPoolOptions {
  /** The module whose default export does the work. */
  file: URL;
  /** Maximum threads. One of them is for other owners than the one who holds the rest. */
  threadsMax: number;
  /** Time limit from when the thread begins with the work, not from the thread's start. */
  runMsMax: number;
  /** Maximum heap of one thread. */
  heapMbMax: number;
  /** Work that waits for a thread. */
  waitingMax: number;
  /** Maximum size of all that waits, in the unit of `ThreadCall.size`. */
  waitingSizeMax: number;
  /** The work is short: it runs to its end, also for a caller that has left, because a thread that is stopped has to be started again. */
  isShort?: boolean;
  log: Log;
}

export interface ThreadCall {
  owner: string;
  /** What the work holds in memory while it waits. */
  size: number;
  signal: AbortSignal;
}

/** A thread and its modules hold some 60 MB, and a new one starts in a third of a second. */
const idleMsMax = 30_000;
/** Maximum time for the start of a thread, which takes seconds on a busy machine. */
const startMsMax = 30_000;
/** Most of the heap is parsed input, which is short-lived. V8's default would come on top of `heapMbMax`. */
const youngHeapMbMax = 48;
/** Niceness of threads for foreign input: on a busy host they wait for the service. Linux schedules each thread by its own. */
const threadNice = 10;

export class ThreadPool<Task extends object, Result> {
  readonly #options: ThreadPoolOptions;
  readonly #threads: Piscina<Task & Started, Result>;
  readonly #lane: FairLane;
  readonly #closed = new AbortController();
  #closing: Promise<void> | undefined;

  constructor(options: ThreadPoolOptions) {
    this.#options = options;
    const { file, threadsMax, waitingMax, waitingSizeMax, runMsMax, heapMbMax, log } = options;
    const ownerWidth = Math.max(1, threadsMax - 1);
    this.#lane = new FairLane({ width: threadsMax, ownerWidth, waitingMax, waitingSizeMax, waitMsMax: runMsMax });
    this.#threads = new Piscina({
      filename: file.href,
      minThreads: 0,
      maxThreads: threadsMax,
      // Only work whose thread is starting waits here. The rest waits in the lane, which does not count towards `runMsMax`.
      maxQueue: threadsMax,
      idleTimeout: idleMsMax,
      resourceLimits: { maxOldGenerationSizeMb: heapMbMax, maxYoungGenerationSizeMb: youngHeapMbMax },
      // Hostile input must not reach this process's environment.
      env: {},
      execArgv: [],
      // On a busy host this work waits for the service, not every request for this work.
      niceIncrement: threadNice,
      recordTiming: false,
    });
    // A thread may die between two calls. Without a listener the error would end the process.
    this.#threads.on('error', (error: unknown) => log.warn({ err: error }, 'thread failed'));
  }

  /** @throws ThreadError, or the signal's reason */
  async run(task: Task, { owner, size, signal }: ThreadCall): Promise<Result> {
    signal.throwIfAborted();
    const aborted = AbortSignal.any([signal, this.#closed.signal]);
    try {
      return await this.#lane.run({ owner, size, signal: aborted }, () =>
        this.#run(task, this.#options.isShort ? this.#closed.signal : aborted),
      );
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof ThreadError) throw error;
      throw new ThreadError(error instanceof LaneFullError || error instanceof LaneTimeoutError ? 'busy' : 'failed', { cause: error });
    }
  }

  /** Ends every thread; running work fails. */
  close(): Promise<void> {
    this.#closing ??= this.#destroy();
    return this.#closing;
  }

  async #destroy(): Promise<void> {
    this.#closed.abort();
    await this.#threads.destroy();
  }

  async #run(task: Task, aborted: AbortSignal): Promise<Result> {
    const stop = new AbortController();
    const fail = (reason: ThreadFailure, cause?: unknown): void => stop.abort(new ThreadError(reason, { cause }));
    // A thread that cannot start, as its module cannot be loaded, fails without the work that waits for it.
    const onError = (error: unknown): void => fail('failed', error);
    const { port1: started, port2: port } = new MessageChannel();
    let timer = setTimeout(fail, startMsMax, 'busy');
    this.#threads.on('error', onError);
    started.once('message', () => {
      this.#threads.off('error', onError);
      clearTimeout(timer);
      timer = setTimeout(fail, this.#options.runMsMax, 'timeout');
    });
    try {
      const signal = AbortSignal.any([aborted, stop.signal]);
      return await this.#threads.run({ ...task, started: port }, { signal, transferList: [port] });
    } catch (error) {
      stop.signal.throwIfAborted();
      throw new ThreadError(isOutOfMemory(error) ? 'too_large' : 'failed', { cause: error });
    } finally {
      this.#threads.off('error', onError);
      clearTimeout(timer);
      started.close();
    }
  }
}

const isOutOfMemory = (error: unknown): boolean => error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY';
