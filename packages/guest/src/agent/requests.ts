/** Handlers of the requests of the control port. */
import { constants, type ServerHttp2Stream } from 'node:http2';
import type { Duplex, Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Identity, PageSize, StartBrowser, type guestRequests } from '@berth/contract/guest';
import type { Machine } from './machine.ts';
import type { z } from 'zod';

/** Limit of one upload. */
const uploadBytesMax = 100 * 1024 ** 2;

export type RequestHandler = (machine: Machine, stream: ServerHttp2Stream, names: string[]) => Promise<void>;

export const handlers: Record<keyof typeof guestRequests, RequestHandler> = {
  hello: async (machine, stream) => respond(stream, machine.hello()),
  start: async (machine, stream) => respond(stream, await machine.start(await readJson(stream, StartBrowser))),
  waitForQuiet: async (machine, stream) => respond(stream, await machine.prepareSnapshot()),
  identify: async (machine, stream) => respond(stream, await machine.identify(await readJson(stream, Identity))),
  devtools: async (machine, stream) => respondWithStream(stream, machine.takePipe()),
  vnc: async (machine, stream) => respondWithStream(stream, await machine.openVnc()),
  display: async (machine, stream) => {
    await machine.resizeDisplay(await readJson(stream, PageSize));
    respond(stream);
  },
  uploads: async (machine, stream, [id = '', name = '']) => {
    const path = await machine.files.put(id, name, bounded(stream, uploadBytesMax));
    respond(stream, { path });
  },
  downloads: async (machine, stream, [name = '']) => {
    const file = await machine.files.openDownload(name);
    try {
      stream.respond({ [constants.HTTP2_HEADER_STATUS]: constants.HTTP_STATUS_OK, [constants.HTTP2_HEADER_CONTENT_LENGTH]: file.bytes });
      await pipeline(file.stream(), stream);
    } finally {
      await file.close();
    }
  },
  stats: async (machine, stream) => respond(stream, machine.stats()),
  exit: async (machine, stream) => respond(stream, await machine.exit()),
};

/** Sends JSON, or 204 without a body. Does nothing on a closed stream. */
export function respond(
  stream: ServerHttp2Stream,
  body?: object,
  status: number = body ? constants.HTTP_STATUS_OK : constants.HTTP_STATUS_NO_CONTENT,
): void {
  if (stream.destroyed || stream.closed) return;
  stream.respond({ [constants.HTTP2_HEADER_STATUS]: status }, { endStream: !body });
  if (body) stream.end(JSON.stringify(body));
}

/** Joins the stream with an open connection, or closes that if the stream has closed. */
function respondWithStream(stream: ServerHttp2Stream, inside: Duplex): void {
  if (stream.destroyed || stream.closed) {
    inside.destroy();
    return;
  }
  stream.respond({ [constants.HTTP2_HEADER_STATUS]: constants.HTTP_STATUS_OK });
  joinStreams(stream, inside);
}

/**
 * Joins two streams with backpressure. When one closes, so does the other, after
 * it has received the remaining data.
 */
function joinStreams(one: Duplex, other: Duplex): void {
  pipeInOneDirection(one, other);
  pipeInOneDirection(other, one);
}

function pipeInOneDirection(from: Duplex, to: Duplex): void {
  from.pipe(to);
  // The reason of an abort does not matter: `close` follows.
  from
    .on('error', () => {})
    .once('close', () => {
      if (from.readableEnded && !to.writableFinished) to.once('finish', () => to.destroy());
      else to.destroy();
    });
}

/** The request body does not match its schema. */
export class BadBodyError extends Error {}

/** The request body exceeds its limit. */
export class BodyTooLargeError extends Error {}

/** Requests take a few hundred bytes. */
const jsonBytesMax = 16 * 1024;

/** @throws BadBodyError, BodyTooLargeError */
async function readJson<T>(stream: Readable, schema: z.ZodType<T>): Promise<T> {
  const pieces: Buffer[] = [];
  for await (const piece of bounded(stream, jsonBytesMax)) pieces.push(piece);
  let parsed: unknown;
  try {
    parsed = JSON.parse(Buffer.concat(pieces).toString('utf8'));
  } catch (cause) {
    throw new BadBodyError('The body is not valid JSON.', { cause });
  }
  const { data, error } = schema.safeParse(parsed);
  if (error) throw new BadBodyError(error.message);
  return data;
}

/** Yields the bytes of a stream. The stream stays open, so that an error can be answered on it. @throws BodyTooLargeError */
async function* bounded(stream: Readable, bytesMax: number): AsyncGenerator<Buffer> {
  let bytes = 0;
  for await (const piece of stream.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    bytes += piece.length;
    if (bytes > bytesMax) throw new BodyTooLargeError(`more than ${bytesMax} bytes`);
    yield piece;
  }
}
