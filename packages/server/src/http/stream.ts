/** Answers that are more than a text: a file, and events that come as they happen. */
import type { ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { create as contentDisposition } from 'content-disposition';
import { partOf, type Part } from './ranges.ts';

/** A file as an answer. */
export interface FileReply {
  /** Its length: told before it is sent, so that its source must keep to it. */
  bytes: number;
  contentType: string;
  /** What the caller may call it. */
  filename: string;
  /** Shown where it is, by pages of ours; without it the browser saves it. */
  inline?: boolean;
  /** Instead of the policy that lets it do nothing at all: only for pages and scripts that are our own. */
  policy?: string;
  /** Whether a part of it may be asked for with `Range`. */
  ranges?: boolean;
  /** `Cache-Control`, where it is not `no-store`. */
  cacheControl?: string;
  /** From the start, or a part of it: first and last byte; asked for once. */
  stream(part?: Part): Readable;
  /** Lets go of the source, whether or not it was sent. Called once. */
  close(): Promise<void>;
}

/** An event as an answer's part. All of it is sent, as JSON. */
export interface ServerEvent {
  readonly id: number;
  readonly type: string;
}

/** What is written once the headers are out. */
export interface Stream {
  /** Where it is not the endpoint's own. */
  status?: number;
  headers: Record<string, string>;
  /** Resolves when the answer is over, well or not: after the headers, what fails can only be cut off. */
  send(response: ServerResponse, signal: AbortSignal): Promise<void>;
  /** For an answer that is not sent after all. */
  drop(): Promise<void>;
}

/** A file, or the part of it that `range` asks for. Throws range_not_satisfiable, and has then let go of the file. */
export async function fileStream(file: FileReply, range: string | undefined): Promise<Stream> {
  const part = file.ranges === true ? await wantedPart(file, range) : null;
  const bytes = part ? part.end - part.start + 1 : file.bytes;
  return {
    ...(part ? { status: 206 } : {}),
    headers: {
      ...fileHeaders(file),
      'content-length': String(bytes),
      ...(part ? { 'content-range': `bytes ${part.start}-${part.end}/${file.bytes}` } : {}),
    },
    drop: () => file.close(),
    async send(response, signal) {
      try {
        const source = part ? file.stream(part) : file.stream();
        await pipeline(source, (chunks: AsyncIterable<Buffer>) => exactly(chunks, bytes), response, { signal });
      } catch {
        // A caller that gets less than was announced can tell so; the pipeline has closed both ends.
        response.destroy();
      } finally {
        await file.close();
      }
    },
  };
}

async function wantedPart(file: FileReply, range: string | undefined): Promise<Part | null> {
  try {
    return partOf(range, file.bytes);
  } catch (error) {
    await file.close();
    throw error;
  }
}

const fileHeaders = ({ contentType, filename, inline, policy, ranges, cacheControl }: FileReply): Record<string, string> => ({
  'content-type': contentType,
  'content-disposition': contentDisposition(filename.toWellFormed(), { type: inline === true ? 'inline' : 'attachment' }),
  // For whoever shows it all the same: what it holds is not ours.
  'content-security-policy': policy ?? "default-src 'none'; sandbox",
  ...(ranges === true ? { 'accept-ranges': 'bytes' } : {}),
  ...(cacheControl === undefined ? {} : { 'cache-control': cacheControl }),
});

/** A shorter body would leave the caller waiting for its end, a longer one would be read as the next answer. */
async function* exactly(source: AsyncIterable<Buffer>, bytes: number): AsyncIterable<Buffer> {
  let left = bytes;
  for await (const chunk of source) {
    left -= chunk.length;
    if (left < 0) break;
    yield chunk;
  }
  if (left !== 0) throw new Error('the file is not as long as was told');
}

/** After how long a caller should come back whose connection broke. */
const retryMs = 2000;
/** For a caller that has stopped reading, beside what the kernel holds: its connection is worth less than the memory. */
const unreadBytesMax = 1024 * 1024;

/** Server-sent events, with a comment now and then so that nobody on the way takes the connection for dead. */
export const eventStream = (events: AsyncIterable<ServerEvent>, keepAliveMs: number): Stream => {
  const iterator = events[Symbol.asyncIterator]();
  // Never waited for: one that is asked for its next event at this moment ends when it notices its signal.
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
        // Its source failed: the caller comes back and goes on where it was.
      } finally {
        clearInterval(timer);
        close();
        if (!response.destroyed) response.end();
      }
    },
  };
};

/** Ends with the signal, also where the source does not look at it. */
async function* untilAborted<T>(iterator: AsyncIterator<T>, signal: AbortSignal): AsyncIterable<T> {
  let giveUp = (): void => {};
  // One promise for each turn: a race against one that lives as long as the stream would keep all that ever ran in it.
  const next = (): Promise<IteratorResult<T>> =>
    new Promise((resolve, reject) => {
      giveUp = () => resolve({ done: true, value: undefined });
      if (signal.aborted) giveUp();
      else iterator.next().then(resolve, reject);
    });
  const onAbort = (): void => giveUp();
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    for (let turn = await next(); turn.done !== true; turn = await next()) yield turn.value;
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
