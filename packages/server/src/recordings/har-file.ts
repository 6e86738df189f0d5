import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Har } from 'har-format';

export const harName = 'har.json';

/** Written entry by entry: a log of long headers is larger than a worker should hold as one text. */
export async function writeHar(folder: string, har: Har, { bytesMax, signal }: { bytesMax: number; signal: AbortSignal }): Promise<void> {
  await pipeline(Readable.from(partsOf(har, bytesMax)), createWriteStream(join(folder, harName), { flags: 'wx', mode: 0o600 }), { signal });
}

function* partsOf({ log: { entries, comment, ...head } }: Har, bytesMax: number): Iterable<string> {
  yield `{"log":${JSON.stringify(head).slice(0, -1)},"entries":[`;
  let [bytes, written] = [0, 0];
  for (const entry of entries) {
    const text = JSON.stringify(entry);
    bytes += text.length;
    if (bytes > bytesMax) break;
    yield written === 0 ? text : `,${text}`;
    written += 1;
  }
  const left = entries.length - written;
  const comments = [...(comment ? [comment] : []), ...(left > 0 ? [`${left} more were left out for their size.`] : [])];
  yield `]${comments.length > 0 ? `,"comment":${JSON.stringify(comments.join(' '))}` : ''}}}`;
}
