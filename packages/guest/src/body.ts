import type { Readable } from 'node:stream';
import type { z } from 'zod';

/** What was sent is not what was asked for. */
export class BadBody extends Error {}

/** More was sent than is taken. */
export class BodyTooLarge extends Error {}

/** Whatever is asked for is told in a few hundred bytes. */
const jsonBytesMax = 16 * 1024;

/** Throws BadBody and BodyTooLarge. */
export async function readJson<T>(stream: Readable, schema: z.ZodType<T>): Promise<T> {
  const pieces: Buffer[] = [];
  for await (const piece of bounded(stream, jsonBytesMax)) pieces.push(piece);
  let told: unknown;
  try {
    told = JSON.parse(Buffer.concat(pieces).toString('utf8'));
  } catch (cause) {
    throw new BadBody('no JSON', { cause });
  }
  const { data, error } = schema.safeParse(told);
  if (error) throw new BadBody(error.message);
  return data;
}

/** The bytes of a stream, which can be answered on when they were too many. Throws BodyTooLarge. */
export async function* bounded(stream: Readable, bytesMax: number): AsyncGenerator<Buffer> {
  let bytes = 0;
  for await (const piece of stream.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    bytes += piece.length;
    if (bytes > bytesMax) throw new BodyTooLarge(`more than ${bytesMax} bytes`);
    yield piece;
  }
}
