/**
 * Object storage: what outlives its worker's disk, in a bucket of the S3 protocol
 * or in a folder that workers share. Reads go through the worker in pieces, so
 * that a slow client holds no connection to the bucket. See ADR 0074.
 */
import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { ServiceError } from '@berth/contract';
import { abortAfter } from '@berth/lib/deadline.ts';
import type { Clock } from '@berth/lib/clock.ts';
import type { Log } from '@berth/lib/log.ts';
import { Loop } from '@berth/lib/loop.ts';
import type { Store } from '../store/store.ts';
import { ObjectError, type Backend, type ByteRange, type ObjectInfo } from './backend.ts';
import { FolderBackend } from './folder.ts';
import type { BucketOptions } from './s3.ts';
import { installationOf } from './store.ts';

export { ObjectNotFoundError, ObjectTooLargeError, type ByteRange, type ObjectInfo } from './backend.ts';

export type StorageOptions = { kind: 'folder'; path: string } | ({ kind: 'bucket'; prefix: string } & BucketOptions);

export interface ObjectsOptions {
  backend: Backend;
  /** Prefix of all keys: empty, or ends with a slash. */
  prefix: string;
  clock: Clock;
  log: Log;
  /** Time limit of a call that is not an upload, or of a piece of a read. */
  callMs?: number;
}

export const objectOperations = ['put', 'get', 'head', 'delete', 'list'] as const;
export type ObjectOperation = (typeof objectOperations)[number];

/** Counts since the start of the worker. */
export interface ObjectStats {
  requests: Record<ObjectOperation, { ok: number; error: number }>;
  bytesIn: number;
  bytesOut: number;
}

const callMsMax = 30_000;
/** Bytes of a piece of a read: large enough for a fast bucket, small enough to hold for each reader. */
const pieceBytes = 2 * 1024 ** 2;
/** A piece that breaks off is read again. The library repeats only what fails before the body. */
const pieceAttempts = 2;
const maintenanceMs = 6 * 3_600_000;
/** No upload takes a day. */
const uploadMsMax = 24 * 3_600_000;
const retryAfterSeconds = 5;

/** @throws Error where the place cannot be used */
export async function openBackend(place: StorageOptions): Promise<Backend> {
  if (place.kind === 'folder') return new FolderBackend(place.path);
  // The client of the bucket is imported only where there is one.
  const { S3Backend } = await import('./s3.ts');
  return new S3Backend(place);
}

/** Opens the storage of this installation: databases that share a bucket do not see each other's objects. */
export async function openObjects(
  place: StorageOptions,
  { store, clock, log }: { store: Store; clock: Clock; log: Log },
): Promise<Objects> {
  const prefix = `${place.kind === 'bucket' ? place.prefix : ''}${await installationOf(store)}/`;
  return new Objects({ backend: await openBackend(place), prefix, clock, log });
}

export class Objects {
  /** Ends uploads that a crash has left. */
  readonly maintenance: Loop;
  readonly stats: ObjectStats = {
    requests: Object.fromEntries(objectOperations.map((name) => [name, { ok: 0, error: 0 }])) as ObjectStats['requests'],
    bytesIn: 0,
    bytesOut: 0,
  };
  readonly #options: ObjectsOptions;

  constructor(options: ObjectsOptions) {
    this.#options = options;
    this.maintenance = new Loop('object-maintenance', maintenanceMs, (signal) => this.#abortUploads(signal));
  }

  /** Stores an object whole, or not at all. @throws ServiceError store_unavailable, or what the body or the signal throws */
  async put(key: string, body: AsyncIterable<Uint8Array>, signal?: AbortSignal): Promise<void> {
    const source = this.#counted(body);
    const stopped = signal ?? new AbortController().signal;
    await this.#call('put', (path) => this.#options.backend.put(path, source.bytes, stopped), key).catch((error: unknown) => {
      if (stopped.aborted) throw stopped.reason;
      throw source.failure() ?? error;
    });
  }

  /** The bytes of a range. @throws ObjectNotFoundError; ServiceError store_unavailable */
  read(key: string, range: ByteRange, signal?: AbortSignal): Promise<Buffer> {
    return this.#get(key, (path, deadline) => this.#options.backend.read(path, range, deadline), signal);
  }

  async #get(key: string, get: (path: string, signal: AbortSignal) => Promise<Buffer>, signal?: AbortSignal): Promise<Buffer> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        const bytes = await this.#call('get', (path) => get(path, this.#deadline(signal)), key);
        this.stats.bytesIn += bytes.length;
        return bytes;
      } catch (error) {
        if (error instanceof ObjectError || attempt === pieceAttempts || signal?.aborted === true) throw error;
      }
    }
  }

  /** A small object as a whole. @throws ObjectNotFoundError, ObjectTooLargeError; ServiceError store_unavailable */
  readAll(key: string, bytesMax: number): Promise<Buffer> {
    return this.#get(key, (path, signal) => this.#options.backend.readAll(path, bytesMax, signal));
  }

  /** A range, a piece at a time as it is read. Fails as `read` does. */
  stream(key: string, { start, end }: ByteRange): Readable {
    const ended = new AbortController();
    const pieces = async function* (this: Objects): AsyncGenerator<Buffer> {
      for (let at = start; at <= end; at += pieceBytes)
        yield await this.read(key, { start: at, end: Math.min(end, at + pieceBytes - 1) }, ended.signal);
    };
    // One piece is read ahead of the client at most.
    const stream = Readable.from(pieces.call(this), { objectMode: false, highWaterMark: 1 });
    stream.once('close', () => ended.abort());
    return stream;
  }

  /** null: no such object. @throws ServiceError store_unavailable */
  head(key: string): Promise<ObjectInfo | null> {
    return this.#call('head', async (path) => this.#named(await this.#options.backend.head(path, this.#deadline())), key);
  }

  /** Objects that do not exist are no error. @throws ServiceError store_unavailable */
  async delete(...keys: string[]): Promise<void> {
    for (const key of keys) await this.#call('delete', (path) => this.#options.backend.delete(path, this.#deadline()), key);
  }

  /** All objects under a prefix that ends with a slash, in the order of their keys, a page at a time. @throws ServiceError store_unavailable */
  async *list(prefix: string, signal: AbortSignal): AsyncIterable<ObjectInfo[]> {
    const pages = this.#options.backend.list(this.#options.prefix + prefix, signal)[Symbol.asyncIterator]();
    for (;;) {
      const page = await this.#call('list', () => pages.next(), prefix);
      if (page.done === true) return;
      yield page.value.map((info) => this.#named(info) ?? info);
    }
  }

  close(): void {
    this.#options.backend.close();
  }

  async #abortUploads(signal: AbortSignal): Promise<void> {
    const { backend, prefix, clock, log } = this.#options;
    const before = new Date(clock.now().getTime() - uploadMsMax);
    const aborted = await backend.abortUploads(prefix, before, AbortSignal.any([signal, this.#deadline()]));
    if (aborted > 0) log.warn({ uploads: aborted }, 'unfinished uploads removed');
  }

  #deadline(signal?: AbortSignal): AbortSignal {
    const timeout = abortAfter(this.#options.callMs ?? callMsMax);
    return signal ? AbortSignal.any([signal, timeout]) : timeout;
  }

  /** Counts the call, and says what its failure is to a caller. */
  async #call<T>(operation: ObjectOperation, call: (path: string) => Promise<T>, key: string): Promise<T> {
    const counts = this.stats.requests[operation];
    try {
      const result = await call(this.#options.prefix + key);
      counts.ok += 1;
      return result;
    } catch (error) {
      if (error instanceof ObjectError) {
        counts.ok += 1;
        throw error;
      }
      counts.error += 1;
      throw unavailable(operation, error);
    }
  }

  #named(info: ObjectInfo | null): ObjectInfo | null {
    return info && { ...info, key: info.key.slice(this.#options.prefix.length) };
  }

  /** A body that fails must not read as a failure of the storage. */
  #counted(body: AsyncIterable<Uint8Array>): { bytes: AsyncIterable<Uint8Array>; failure(): unknown } {
    let failure: unknown = null;
    const count = async function* (stats: ObjectStats): AsyncGenerator<Uint8Array> {
      try {
        for await (const chunk of body) {
          stats.bytesOut += chunk.length;
          yield chunk;
        }
      } catch (error) {
        failure = error;
        throw error;
      }
    };
    return { bytes: count(this.stats), failure: () => failure };
  }
}

const unavailable = (operation: ObjectOperation, cause: unknown): ServiceError =>
  new ServiceError('store_unavailable', 'The object storage is unavailable. Try again in a moment.', {
    retryAfterSeconds,
    cause,
    internal: `object storage: ${operation} failed: ${reasonOf(cause)}`,
  });

/** The code of the protocol or of the connection; never a header or a key. */
const reasonOf = (error: unknown): string => {
  const { name, code } = error as { name?: string; code?: string };
  return code ?? name ?? 'unknown';
};

/** Writes, reads and deletes an object, as the doctor does. @throws what the backend throws */
export async function probe(place: StorageOptions): Promise<void> {
  const backend = await openBackend(place);
  const signal = abortAfter(callMsMax);
  const key = `${place.kind === 'bucket' ? place.prefix : ''}doctor/${randomUUID()}`;
  const text = Buffer.from('written by the doctor');
  try {
    await backend.put(key, Readable.from([text], { objectMode: false }), signal);
    const part = await backend.read(key, { start: 3, end: 6 }, signal);
    if (!part.equals(text.subarray(3, 7))) throw new Error('the object that was read is not the one that was written');
    await backend.delete(key, signal);
    if ((await backend.head(key, signal)) !== null) throw new Error('an object that was deleted is still there');
  } finally {
    backend.close();
  }
}
