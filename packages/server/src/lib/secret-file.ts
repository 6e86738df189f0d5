import { chmodSync, linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { randomBytes } from 'node:crypto';
import { dirname } from 'node:path';

/**
 * Reads a secret that this installation keeps for itself, or makes it on the
 * first start. Mode 0600, and whole or not there at all: a crash while writing
 * leaves no half of a key.
 */
export function readOrMakeSecret(path: string, make: () => string): { secret: string; made: boolean } {
  try {
    const secret = readFileSync(path, 'utf8').trim();
    if (secret) {
      chmodSync(path, 0o600);
      return { secret, made: false };
    }
    rmSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const draft = `${path}.${randomBytes(6).toString('hex')}`;
  writeFileSync(draft, `${make()}\n`, { mode: 0o600, flush: true });
  try {
    // A link fails where the file is there by now: the first to arrive wins, and all read the same secret.
    linkSync(draft, path);
    return { secret: readFileSync(path, 'utf8').trim(), made: true };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    return { secret: readFileSync(path, 'utf8').trim(), made: false };
  } finally {
    rmSync(draft, { force: true });
  }
}
