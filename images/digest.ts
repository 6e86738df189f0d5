/** What images and their parts are told apart by. */
import { createHash } from 'node:crypto';
import { createReadStream, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';

/** Long enough that no two images share one, short enough for a path. */
const keyLength = 32;

/** One name for a list of facts. Their borders count: ['ab', 'c'] is another list than ['a', 'bc']. */
export const keyOf = (facts: string[]): string => createHash('sha256').update(JSON.stringify(facts)).digest('hex').slice(0, keyLength);

export async function digestOf(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path, { highWaterMark: 1024 ** 2 }), hash);
  return hash.digest('hex');
}

/** Of files that are read whole: sources, not file systems. */
export const factsOf = (paths: string[], root: string): string[] =>
  paths.toSorted().flatMap((path) => [
    path,
    createHash('sha256')
      .update(readFileSync(join(root, path)))
      .digest('hex'),
  ]);
