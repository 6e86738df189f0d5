/** Digests that identify images and layers. */
import { createHash } from 'node:crypto';
import { createReadStream, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';

/** Long enough that no two images share one, short enough for a path. */
const keyLength = 32;

/** A hash of a list of strings. Boundaries count: ['ab', 'c'] differs from ['a', 'bc']. */
export const hashOf = (parts: string[]): string => createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, keyLength);

export async function digestOf(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path, { highWaterMark: 1024 ** 2 }), hash);
  return hash.digest('hex');
}

/** Path and digest of each file. Reads files whole, so use it for sources only. */
export const fingerprintsOf = (paths: string[], root: string): string[] =>
  paths.toSorted().flatMap((path) => [
    path,
    createHash('sha256')
      .update(readFileSync(join(root, path)))
      .digest('hex'),
  ]);
