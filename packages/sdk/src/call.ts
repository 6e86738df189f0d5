/** What calls take and return. */

export interface RequestOptions {
  /** Aborts the call, also while it waits for its next attempt. */
  signal?: AbortSignal | undefined;
  /** Maximum time of each attempt in milliseconds. Default: 60 seconds, or a little longer than the service itself takes at most. */
  timeoutMs?: number | undefined;
  /** Number of further attempts after one that failed for a while. Default: 2. */
  maxRetries?: number | undefined;
  /** Key by which the service recognizes a repeated request. Default: a new one for each call that can take one. */
  idempotencyKey?: string | undefined;
  /** Headers to send beside those of the client. */
  headers?: Record<string, string> | undefined;
}

export interface EventOptions extends RequestOptions {
  /** Starts after the event with this id; 0 starts with the oldest that the service has. Default: with new events. */
  lastEventId?: number | undefined;
}

/** The value of a reply with the response that it came in. */
export interface WithResponse<T> {
  data: T;
  /** Its body has been read, unless the data is the response itself. */
  response: Response;
  requestId: string | null;
}

/** A call that has been sent. Await it for its value. */
export interface Call<T> extends Promise<T> {
  /** The value with the response, for its status and headers. */
  withResponse(): Promise<WithResponse<T>>;
}

/** One page of a list. */
export interface Page<T> {
  items: T[];
  /** The `cursor` of the next page; null on the last one. */
  nextCursor: string | null;
  /** Asks for the next page; null on the last one. */
  next(): Promise<Page<T> | null>;
}

/** A list that is read page by page: await it for its first page, or iterate over all of its items. */
export interface Pages<T> extends Call<Page<T>>, AsyncIterable<T> {}

/** A stream of events, which is opened when it is iterated, and again where its connection drops. */
export interface Events<T> extends AsyncIterable<T> {}
