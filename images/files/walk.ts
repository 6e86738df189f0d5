import { readdirSync } from 'node:fs';
import type { Dirent } from 'node:fs';
import { join } from 'node:path';

export interface WalkEntry {
  /** From the folder that was walked. */
  path: string;
  entry: Dirent;
}

/**
 * Yields everything below a folder, sorted, folders before their content. Links are
 * not followed, as those of a machine's file system point into the host's.
 */
export function* walk(folder: string, below = ''): Generator<WalkEntry> {
  const entries = readdirSync(join(folder, below), { withFileTypes: true }).toSorted((a, b) => (a.name < b.name ? -1 : 1));
  for (const entry of entries) {
    const path = join(below, entry.name);
    yield { path, entry };
    if (entry.isDirectory()) yield* walk(folder, path);
  }
}

/** Every plain file. */
export const listFiles = (folder: string): string[] => [...walk(folder)].filter(({ entry }) => entry.isFile()).map(({ path }) => path);
