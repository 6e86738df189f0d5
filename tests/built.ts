/**
 * Lets tests run with the built service: a module that the build contains is imported from there, wherever it is
 * imported, so that no process has two copies of one. Loading it takes a third of the time.
 * Run: `node --import=./tests/built.ts --test FILE`. Without it, everything is imported from the sources.
 */
import { createHash } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const root = join(import.meta.dirname, '..');
const built = join(root, 'packages/server/dist');

/** @throws Error for a build of other sources, which would prove nothing */
function assertFresh(): void {
  const stamp = join(built, '.sources');
  const { mtimeMs } = statSync(stamp);
  for (const line of readFileSync(stamp, 'utf8').split('\n')) {
    const [digest = '', file = ''] = line.split('  ');
    if (file === '' || file === '-') continue;
    const stats = statSync(join(root, file), { throwIfNoEntry: false });
    if (stats && stats.mtimeMs <= mtimeMs) continue;
    if (
      !stats ||
      createHash('sha256')
        .update(readFileSync(join(root, file)))
        .digest('hex') !== digest
    )
      throw new Error(`${file} has changed since the service was built: npm run build`);
  }
}

assertFresh();
const modules = new Map(
  Object.entries(JSON.parse(readFileSync(join(built, 'modules.json'), 'utf8')) as Record<string, string | null>).map(([file, name]) => [
    pathToFileURL(join(root, file)).href,
    name,
  ]),
);

registerHooks({
  resolve(specifier, context, next) {
    const found = next(specifier, context);
    const name = modules.get(found.url);
    if (name === undefined) return found;
    if (name === null) throw new Error(`${fileURLToPath(found.url)} is in the build, and is no entry of it: npm run build`);
    return { ...found, url: pathToFileURL(join(built, name)).href, format: 'module' };
  },
});
