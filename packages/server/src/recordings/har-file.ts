import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Har } from 'har-format';

export const harName = 'har.json';

/** Writes a HAR entry by entry, as the whole text may be too large to hold in memory. */
export async function writeHar(folder: string, har: Har, { bytesMax, signal }: { bytesMax: number; signal: AbortSignal }): Promise<void> {
  await pipeline(Readable.from(serializeHar(har, bytesMax)), createWriteStream(join(folder, harName), { flags: 'wx', mode: 0o600 }), {
    signal,
  });
}

function* serializeHar({ log: { entries, comment, ...head } }: Har, bytesMax: number): Iterable<string> {
  yield `{"log":${JSON.stringify(head).slice(0, -1)},"entries":[`;
  let [bytes, written] = [0, 0];
  for (const entry of entries) {
    const text = JSON.stringify(entry);
    bytes += text.length;
    if (bytes > bytesMax) break;
    yield written === 0 ? text : `,${text}`;
    written += 1;
  }
  const omitted = entries.length - written;
  const comments = [...(comment ? [comment] : []), ...(omitted > 0 ? [`${omitted} more were omitted to limit the size.`] : [])];
  yield `]${comments.length > 0 ? `,"comment":${JSON.stringify(comments.join(' '))}` : ''}}}`;
}
