/**
 * Large bodies. A megabyte of JSON takes up to a tenth of a second to parse and
 * validate, and whoever sends several at once would hold up everybody. So they
 * are read a few at a time for each caller, the others wait unread, and threads
 * parse them.
 */
import { endpoints, ServiceError, type Endpoint } from '@berth/contract';
import type { IncomingMessage } from 'node:http';
import { FairLane, type FairLaneCall } from '@berth/lib/turns/fair-lane.ts';
import { LaneFullError, LaneTimeoutError } from '@berth/lib/turns/lanes.ts';
import type { Log } from '@berth/lib/log.ts';
import { fromPieces } from '@berth/lib/turns/pieces.ts';
import { ThreadError, ThreadPool } from '@berth/lib/thread-pool.ts';
import type { BodyResult, BodyTask } from './body-thread.ts';
import type { Exchange } from '../server/exchange.ts';
import { parseFileForm } from './file-form.ts';
import { parseJsonBody } from './json-body.ts';
import type { Parsed } from '@berth/lib/validation/issues.ts';

/** Maximum bytes of a body that takes at most a few milliseconds to parse, whatever it is. */
export const smallBodyBytesMax = 64 * 1024;

/** Bodies in memory, of one caller and of all. */
const reading = { width: 32, ownerWidth: 4, waitingMax: 256, waitingSizeMax: Infinity, waitMsMax: 10_000 };
const parsing = {
  /** Two, so that nobody waits for another caller's body. */
  threadsMax: 2,
  /** A megabyte of JSON takes a tenth of a second of a free processor. */
  runMsMax: 15_000,
  heapMbMax: 512,
  waitingMax: reading.width,
  waitingSizeMax: Infinity,
  isShort: true,
};
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
  /** Created by the first large body. */
  #threads: ThreadPool<BodyTask, BodyResult> | undefined;

  constructor(log: Log) {
    this.#log = log;
  }

  /** Runs `work`, which reads and parses the body, in the caller's turn if the body is large or of unknown length. @throws ServiceError rate_limited */
  async take<T>(exchange: Exchange, work: () => Promise<T>): Promise<T> {
    if (!isLarge(exchange.request)) return work();
    return orRateLimited(exchange, this.#reading.run(turnOf(exchange), work));
  }

  /** @throws ServiceError rate_limited */
  async parse(endpoint: Endpoint, exchange: Exchange, bytes: Buffer): Promise<Parsed> {
    // A thread has only the endpoints of the contract.
    if (bytes.length <= smallBodyBytesMax || !inContract.has(endpoint)) return parseJsonBody(endpoint, bytes);
    const result = await this.#run(exchange, { bytes, endpointId: endpoint.id });
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
    const result = await this.#run(exchange, { bytes: form, endpointId: endpoint.id, formType });
    if (result.ok && result.isTooLarge === true) throw fileTooLarge(endpoint);
    const body = result.ok ? { ok: true as const, value: await fromPieces(result.pieces) } : result;
    return { body, bytes: Buffer.from((result.ok && result.digest) || []) };
  }

  async close(): Promise<void> {
    await this.#threads?.close();
  }

  #run(exchange: Exchange, task: BodyTask): Promise<BodyResult> {
    const file = new URL('./body-thread.ts', import.meta.url);
    this.#threads ??= new ThreadPool({ ...parsing, file, log: this.#log });
    return orRateLimited(exchange, this.#threads.run(task, turnOf(exchange)));
  }
}

const turnOf = ({ principal, signal }: Exchange): FairLaneCall => ({ owner: principal.scope, size: 0, signal });

/** @throws ServiceError rate_limited where too many of the caller's bodies wait, or one waited too long */
async function orRateLimited<T>({ signal }: Exchange, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    signal.throwIfAborted();
    const isBusy = error instanceof ThreadError && error.reason === 'busy';
    if (!isBusy && !(error instanceof LaneFullError || error instanceof LaneTimeoutError)) throw error;
    throw new ServiceError('rate_limited', 'Too many large bodies at once. Wait for the replies to some, and try again.', {
      cause: error,
      retryAfterSeconds: retrySeconds,
    });
  }
}
