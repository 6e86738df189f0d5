import type { Readable } from 'node:stream';
import type { z } from 'zod';

/** The request body does not match its schema. */
export class BadBody extends Error {}

/** The request body exceeds its limit. */
export class BodyTooLarge extends Error {}

/** Requests take a few hundred bytes. */
const jsonBytesMax = 16 * 1024;

/** @throws BadBody, BodyTooLarge */
export async function readJson<T>(stream: Readable, schema: z.ZodType<T>): Promise<T> {
  const pieces: Buffer[] = [];
  for await (const piece of bounded(stream, jsonBytesMax)) pieces.push(piece);
  let parsed: unknown;
  try {
    parsed = JSON.parse(Buffer.concat(pieces).toString('utf8'));
  } catch (cause) {
    throw new BadBody('The body is not valid JSON.', { cause });
  }
  const { data, error } = schema.safeParse(parsed);
  if (error) throw new BadBody(error.message);
  return data;
}

/** Yields the bytes of a stream. The stream stays open, so that an error can be answered on it. @throws BodyTooLarge */
export async function* bounded(stream: Readable, bytesMax: number): AsyncGenerator<Buffer> {
  let bytes = 0;
  for await (const piece of stream.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    bytes += piece.length;
    if (bytes > bytesMax) throw new BodyTooLarge(`more than ${bytesMax} bytes`);
    yield piece;
  }
}
