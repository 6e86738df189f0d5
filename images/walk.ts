import { readdirSync } from 'node:fs';
import type { Dirent } from 'node:fs';
import { join } from 'node:path';

export interface FoundEntry {
  /** From the folder that was walked. */
  path: string;
  entry: Dirent;
}

/**
 * Everything below a folder, each folder before what is in it, sorted: the order
 * of a file system says nothing. No link is followed: those of a file system for
 * machines lead out of it, into the host's.
 */
export function* walk(folder: string, below = ''): Generator<FoundEntry> {
  const entries = readdirSync(join(folder, below), { withFileTypes: true }).toSorted((a, b) => (a.name < b.name ? -1 : 1));
  for (const entry of entries) {
    const path = join(below, entry.name);
    yield { path, entry };
    if (entry.isDirectory()) yield* walk(folder, path);
  }
}

/** Every plain file. */
export const listFiles = (folder: string): string[] => [...walk(folder)].filter(({ entry }) => entry.isFile()).map(({ path }) => path);
