/** Streamed responses: files and server-sent events. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { ServiceError } from '@berth/contract';
import { create as contentDisposition } from 'content-disposition';
import parseRange from 'range-parser';

export interface FileReply {
  /** Sent as Content-Length, so the source must yield exactly this many. */
  bytes: number;
  contentType: string;
  /** Suggested name for saving. */
  filename: string;
  /** Displayed by the browser; otherwise it is saved. */
  inline?: boolean;
  /** Replaces the default policy, which forbids everything. Only for this service's own pages and scripts. */
  policy?: string;
  /** Whether `Range` is supported. */
  ranges?: boolean;
  /** `Cache-Control`; absent: `no-store`. */
  cacheControl?: string;
  /** Reads the file from the start, or a part of it: first and last byte. Called once. */
  stream(byteRange?: ByteRange): Readable;
  /** Releases the source, sent or not. Called once. */
  close(): Promise<void>;
}

/** The whole event is sent as JSON. */
export interface ServerEvent {
  readonly id: number;
  readonly type: string;
}

/** The body of a streamed response. */
export interface Stream {
  /** Absent: the endpoint's status. */
  status?: number;
  headers: Record<string, string>;
  /** Resolves when the response has ended or failed. After the headers, a failure can only close the connection. */
  send(response: ServerResponse, signal: AbortSignal): Promise<void>;
  /** Releases a response that is not sent. */
  drop(): Promise<void>;
}

/** A file, or the range of it. Closes the file when it throws. @throws ServiceError range_not_satisfiable */
export async function fileStream(file: FileReply, range: string | undefined): Promise<Stream> {
  const byteRange = file.ranges === true ? await resolveFileRange(file, range) : null;
  const bytes = byteRange ? byteRange.end - byteRange.start + 1 : file.bytes;
  return {
    ...(byteRange ? { status: 206 } : {}),
    headers: {
      ...fileHeaders(file),
      'content-length': String(bytes),
      ...(byteRange ? { 'content-range': `bytes ${byteRange.start}-${byteRange.end}/${file.bytes}` } : {}),
    },
    drop: () => file.close(),
    async send(response, signal) {
      try {
        const source = byteRange ? file.stream(byteRange) : file.stream();
        await pipeline(source, (chunks: AsyncIterable<Buffer>) => exactly(chunks, bytes), response, { signal });
      } catch {
        // The client notices the truncated body; the pipeline has closed both ends.
        response.destroy();
      } finally {
        await file.close();
      }
    },
  };
}

async function resolveFileRange(file: FileReply, range: string | undefined): Promise<ByteRange | null> {
  try {
    return resolveRange(range, file.bytes);
  } catch (error) {
    await file.close();
    throw error;
  }
}

const fileHeaders = ({ contentType, filename, inline, policy, ranges, cacheControl }: FileReply): Record<string, string> => ({
  'content-type': contentType,
  'content-disposition': contentDisposition(filename.toWellFormed(), { type: inline === true ? 'inline' : 'attachment' }),
  // The content is not trusted, even if a client displays it.
  'content-security-policy': policy ?? "default-src 'none'; sandbox",
  // A page of another site cannot load it, also where the viewer's cookie would be sent.
  'cross-origin-resource-policy': 'same-origin',
  ...(ranges === true ? { 'accept-ranges': 'bytes' } : {}),
  ...(cacheControl === undefined ? {} : { 'cache-control': cacheControl }),
});

/** A shorter body would leave the client waiting; a longer one would be read as the next response. */
async function* exactly(source: AsyncIterable<Buffer>, bytes: number): AsyncIterable<Buffer> {
  let left = bytes;
  for await (const chunk of source) {
    left -= chunk.length;
    if (left < 0) break;
    yield chunk;
  }
  if (left !== 0) throw new Error('the file does not have its announced length');
}

/** A response that was made whole, as its body comes. */
export const responseStream = ({ status, headers, body }: Response): Stream => ({
  status,
  headers: Object.fromEntries(headers),
  drop: async () => body?.cancel(),
  async send(response, signal) {
    if (body === null) return void response.end();
    try {
      await pipeline(Readable.from(body), response, { signal });
    } catch {
      // The client notices the truncated body; the pipeline has closed both ends.
      response.destroy();
    }
  },
});

/** Clients reconnect after this time. */
const retryMs = 2000;
/** Buffered for a client that does not read, in addition to the kernel's buffer; beyond it the connection is closed. */
const unreadBytesMax = 1024 * 1024;

/** Server-sent events, with keep-alive comments so that proxies keep the connection open. */
export const eventStream = (events: AsyncIterable<ServerEvent>, keepAliveMs: number): Stream => {
  const iterator = events[Symbol.asyncIterator]();
  // Not awaited: a pending next() ends only when the source notices its signal.
  const close = (): void => void iterator.return?.().catch(() => undefined);
  return {
    headers: { 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' },
    drop: async () => close(),
    async send(response, signal) {
      const write = (text: string): void => {
        if (response.destroyed) return;
        response.write(text);
        if (response.writableLength > unreadBytesMax) response.destroy();
      };
      write(`retry: ${retryMs}\n\n`);
      const timer = setInterval(write, keepAliveMs, ': keep-alive\n\n');
      try {
        for await (const event of untilAborted(iterator, signal))
          write(`id: ${event.id}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
      } catch {
        // The source failed: the client reconnects and resumes.
      } finally {
        clearInterval(timer);
        close();
        if (!response.destroyed) response.end();
      }
    },
  };
};

/** Ends with the signal, even if the source ignores it. */
async function* untilAborted<T>(iterator: AsyncIterator<T>, signal: AbortSignal): AsyncIterable<T> {
  let finish = (): void => {};
  // One promise for each event: racing against one long-lived promise would leak a reaction for every event.
  const next = (): Promise<IteratorResult<T>> =>
    new Promise((resolve, reject) => {
      finish = () => resolve({ done: true, value: undefined });
      if (signal.aborted) finish();
      else iterator.next().then(resolve, reject);
    });
  const onAbort = (): void => finish();
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    for (let turn = await next(); turn.done !== true; turn = await next()) yield turn.value;
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

/** First and last byte. */
interface ByteRange {
  start: number;
  end: number;
}

/**
 * The `Range` header of a GET request. A range with `If-Range` never applies,
 * because files are sent without validators (RFC 9110, section 13.1.5).
 */
export const readRangeHeader = ({ method, headers }: IncomingMessage): string | undefined =>
  method === 'GET' && headers['if-range'] === undefined ? headers.range : undefined;

/**
 * The requested range; null for the whole file: without a range, for a malformed
 * one, and for several ranges, which are not supported.
 *
 * @throws ServiceError range_not_satisfiable
 */
function resolveRange(range: string | undefined, bytes: number): ByteRange | null {
  if (range === undefined || range.includes(',')) return null;
  const parts = parseRange(bytes, range);
  if (parts === -2) return null;
  if (parts === -1) return wholeOf(range, bytes);
  const [byteRange] = parts;
  return byteRange && parts.type.toLowerCase() === 'bytes' ? { start: byteRange.start, end: byteRange.end } : null;
}

/** The parser rejects a suffix range longer than the file; RFC 9110 says that it selects the whole file. */
function wholeOf(range: string, bytes: number): ByteRange {
  if (bytes > 0 && /^bytes=\s*-\s*0*[1-9]\d*\s*$/i.test(range)) return { start: 0, end: bytes - 1 };
  throw new ServiceError('range_not_satisfiable', `Range not satisfiable: the file has ${bytes} bytes.`, {
    details: { size_bytes: bytes },
  });
}
