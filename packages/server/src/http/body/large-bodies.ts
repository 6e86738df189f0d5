/**
 * Large bodies. A megabyte of JSON takes up to a tenth of a second to parse and
 * validate, and whoever sends several at once would hold up everybody. So they
 * are read a few at a time for each caller, the others wait unread, and threads
 * parse them.
 */
import { endpoints, ServiceError, type Endpoint } from '@berth/contract';
import type { IncomingMessage } from 'node:http';
import { Piscina } from 'piscina';
import { FairLane } from '@berth/lib/turns/fair-lane.ts';
import { LaneFullError, LaneTimeoutError } from '@berth/lib/turns/lanes.ts';
import type { Log } from '@berth/lib/log.ts';
import { fromPieces } from '@berth/lib/turns/pieces.ts';
import { threadNice } from '@berth/lib/thread-pool.ts';
import type { BodyResult, BodyTask } from './body-thread.ts';
import type { Exchange } from '../server/exchange.ts';
import { parseFileForm } from './file-form.ts';
import { parseJsonBody } from './json-body.ts';
import type { Parsed } from '@berth/lib/validation/issues.ts';

/** Maximum bytes of a body that takes at most a few milliseconds to parse, whatever it is. */
export const smallBodyBytesMax = 64 * 1024;

/** Bodies in memory, of one caller and of all. */
const reading = { width: 32, ownerWidth: 4, waitingMax: 256, waitingSizeMax: Infinity, waitMsMax: 10_000 };
/** Two, so that nobody waits for another caller's body. */
const threadsMax = 2;
const parsing = { width: threadsMax, ownerWidth: 1, waitingMax: reading.width, waitingSizeMax: Infinity, waitMsMax: 15_000 };
/** A thread and its modules hold some 50 MB, and a new one starts in a third of a second. */
const idleMsMax = 30_000;
const heapMbMax = 512;
const retrySeconds = 1;

function fileTooLarge({ multipart }: Endpoint): ServiceError {
  const limit = multipart?.bytesMax ?? 0;
  return new ServiceError('body_too_large', `The file is larger than ${limit} bytes. Send a smaller one.`, {
    details: { limit_bytes: limit },
  });
}

const inContract = new Set(endpoints);

const isLarge = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > smallBodyBytesMax;

export class LargeBodies {
  readonly #log: Log;
  readonly #reading = new FairLane(reading);
  readonly #parsing = new FairLane(parsing);
  /** Created by the first large body. */
  #threads: Piscina<BodyTask, BodyResult> | undefined;

  constructor(log: Log) {
    this.#log = log;
  }

  /** Runs `work`, which reads and parses the body, in the caller's turn if the body is large or of unknown length. @throws ServiceError rate_limited */
  async take<T>(exchange: Exchange, work: () => Promise<T>): Promise<T> {
    if (!isLarge(exchange.request)) return work();
    return inTurn(this.#reading, exchange, work);
  }

  /** @throws ServiceError rate_limited */
  async parse(endpoint: Endpoint, exchange: Exchange, bytes: Buffer): Promise<Parsed> {
    // A thread has only the endpoints of the contract.
    if (bytes.length <= smallBodyBytesMax || !inContract.has(endpoint)) return parseJsonBody(endpoint, bytes);
    // Also for a client that has left: a thread that is stopped has to be started again.
    const result = await inTurn(this.#parsing, exchange, () => this.#pool().run({ bytes, endpointId: endpoint.id }));
    return result.ok ? { ok: true, value: await fromPieces(result.pieces) } : result;
  }

  /** Parses a form with a file; `bytes` stand for it. @throws ServiceError rate_limited, body_too_large */
  async parseForm(endpoint: Endpoint, exchange: Exchange, form: Buffer): Promise<{ body: Parsed; bytes: Buffer }> {
    const formType = exchange.request.headers['content-type'] ?? '';
    if (form.length <= smallBodyBytesMax || !inContract.has(endpoint)) {
      const { body, digest, isTooLarge } = await parseFileForm(endpoint, formType, form);
      if (isTooLarge) throw fileTooLarge(endpoint);
      return { body, bytes: Buffer.from(digest) };
    }
    const task = { bytes: form, endpointId: endpoint.id, formType };
    const result = await inTurn(this.#parsing, exchange, () => this.#pool().run(task));
    if (result.ok && result.isTooLarge === true) throw fileTooLarge(endpoint);
    const body = result.ok ? { ok: true as const, value: await fromPieces(result.pieces) } : result;
    return { body, bytes: Buffer.from((result.ok && result.digest) || []) };
  }

  async close(): Promise<void> {
    await this.#threads?.destroy();
  }

  #pool(): Piscina<BodyTask, BodyResult> {
    if (this.#threads) return this.#threads;
    const threads = new Piscina<BodyTask, BodyResult>({
      filename: new URL('./body-thread.ts', import.meta.url).href,
      minThreads: 0,
      maxThreads: threadsMax,
      idleTimeout: idleMsMax,
      resourceLimits: { maxOldGenerationSizeMb: heapMbMax },
      // Hostile input must not reach this process's environment.
      env: {},
      execArgv: [],
      niceIncrement: threadNice,
      recordTiming: false,
    });
    // A thread may die between two bodies. Without a listener the error would end the process.
    threads.on('error', (error: unknown) => this.#log.warn({ err: error }, 'body thread failed'));
    return (this.#threads = threads);
  }
}

async function inTurn<T>(lane: FairLane, { principal, signal }: Exchange, work: () => Promise<T>): Promise<T> {
  try {
    return await lane.run({ owner: principal.scope, size: 0, signal }, work);
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof LaneFullError || error instanceof LaneTimeoutError)) throw error;
    throw new ServiceError('rate_limited', 'Too many large bodies at once. Wait for the replies to some, and try again.', {
      cause: error,
      retryAfterSeconds: retrySeconds,
    });
  }
}
