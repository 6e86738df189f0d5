/** What a place for objects can do. Keys are made by this service: segments of lower-case letters, digits, `_`, `-` and `.`. */

export interface ObjectInfo {
  key: string;
  bytes: number;
  modifiedAt: Date;
}

/** First and last byte. */
export interface ByteRange {
  start: number;
  end: number;
}

/** An error that is about an object, not a failure of the storage. */
export class ObjectError extends Error {}
/** There is no object of that key, or it ends before the range. */
export class ObjectNotFoundError extends ObjectError {}
export class ObjectTooLargeError extends ObjectError {}

export interface Backend {
  /** Stores the object whole, or not at all; replaces one of the same key. */
  put(key: string, body: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<void>;
  /** The bytes of the range, all of which the object must have. @throws ObjectNotFoundError */
  read(key: string, range: ByteRange, signal: AbortSignal): Promise<Buffer>;
  /** The whole object. @throws ObjectNotFoundError, ObjectTooLargeError */
  readAll(key: string, bytesMax: number, signal: AbortSignal): Promise<Buffer>;
  /** null: no such object. */
  head(key: string, signal: AbortSignal): Promise<ObjectInfo | null>;
  /** Does nothing where there is no such object. */
  delete(key: string, signal: AbortSignal): Promise<void>;
  /** Lists all keys that begin with `prefix`, which ends with a slash, in the order of their keys; a page at a time. */
  list(prefix: string, signal: AbortSignal): AsyncIterable<ObjectInfo[]>;
  /** Removes what is left of uploads that began before `before` and never ended. Returns how many. */
  abortUploads(prefix: string, before: Date, signal: AbortSignal): Promise<number>;
  close(): void;
}
