import { chmodSync, linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { randomBytes } from 'node:crypto';
import { dirname } from 'node:path';

/**
 * Reads a secret of this installation, or creates it at the first start, with
 * mode 0600 and atomically: a crash never leaves a partial key.
 */
export function readOrCreateSecret(path: string, create: () => string): { secret: string; created: boolean } {
  try {
    const secret = readFileSync(path, 'utf8').trim();
    if (secret) {
      chmodSync(path, 0o600);
      return { secret, created: false };
    }
    rmSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const draft = `${path}.${randomBytes(6).toString('hex')}`;
  writeFileSync(draft, `${create()}\n`, { mode: 0o600, flush: true });
  try {
    // The link fails if another process has created the file meanwhile: all use the secret of the first.
    linkSync(draft, path);
    return { secret: readFileSync(path, 'utf8').trim(), created: true };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    return { secret: readFileSync(path, 'utf8').trim(), created: false };
  } finally {
    rmSync(draft, { force: true });
  }
}
