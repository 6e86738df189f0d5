/**
 * Builds the command line: one file that every command starts, and one for each group of commands, which is read when it is needed.
 * The packages that it uses are inside, so what is published depends on nothing.
 * Run: `node scripts/cli.ts FOLDER`.
 */
import { chmodSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { rolldown } from 'rolldown';

const root = resolve(import.meta.dirname, '..');

export async function buildCommandLine(folder: string): Promise<void> {
  const bundle = await rolldown({
    cwd: root,
    input: { berth: join(root, 'packages/cli/src/main.ts') },
    platform: 'node',
    tsconfig: false,
    transform: { target: 'node20' },
    onLog: (level, log) => {
      // Cycles inside packages are theirs.
      if (level === 'warn' && log.code !== 'CIRCULAR_DEPENDENCY') throw new Error(log.message);
    },
  });
  rmSync(folder, { recursive: true, force: true });
  await bundle.write({
    dir: folder,
    format: 'esm',
    comments: false,
    minify: { compress: true, mangle: false, codegen: false },
    entryFileNames: '[name].js',
    chunkFileNames: '[name]-[hash].js',
  });
  await bundle.close();
  chmodSync(join(folder, 'berth.js'), 0o755);
}

if (import.meta.main) await buildCommandLine(resolve(process.argv[2] ?? join(root, 'packages/cli/dist')));
