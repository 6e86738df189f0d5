/** Reads JSON that this service has written, however much it is: 32 MB take half a second, which a thread takes elsewhere. */
import type { JsonTask } from './thread.ts';
import type { Log } from '../log.ts';
import { fromPieces, type Piece } from '../turns/pieces.ts';
import { ThreadPool } from '../thread-pool.ts';

/** Read at once, in some milliseconds. */
const smallBytesMax = 256 * 1024;
const threadsMax = 2;
const runMsMax = 20_000;
const heapMbMax = 512;
const waitingMax = 64;
const waitingSizeMax = 256 * 1024 ** 2;

export class JsonReader {
  readonly #log: Log;
  /** Created by the first large text. */
  #threads: ThreadPool<JsonTask, Piece[]> | undefined;

  constructor(log: Log) {
    this.#log = log;
  }

  /** Owners take turns. @throws SyntaxError, ThreadError, or the signal's reason */
  async read(bytes: Buffer, { owner, signal }: { owner: string; signal: AbortSignal }): Promise<unknown> {
    if (bytes.length <= smallBytesMax) return JSON.parse(bytes.toString());
    return fromPieces(await this.#pool().run({ bytes }, { owner, size: bytes.length, signal }));
  }

  async close(): Promise<void> {
    await this.#threads?.close();
  }

  #pool(): ThreadPool<JsonTask, Piece[]> {
    const file = new URL('./thread.ts', import.meta.url);
    return (this.#threads ??= new ThreadPool({ file, threadsMax, runMsMax, heapMbMax, waitingMax, waitingSizeMax, log: this.#log }));
  }
}
