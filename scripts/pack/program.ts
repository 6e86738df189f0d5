/** Builds a program that people install: JavaScript with the packages that it uses inside, so what is published depends on nothing. */
import { chmodSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { rolldown } from 'rolldown';

export const root = resolve(import.meta.dirname, '../..');

/** `source`: the file that starts it. What it imports when it is needed becomes a file of its own. */
export async function buildProgram(name: string, source: string, folder: string): Promise<void> {
  const bundle = await rolldown({
    cwd: root,
    input: { [name]: join(root, source) },
    platform: 'node',
    // Its CommonJS form requires files by a name that a bundler cannot see.
    resolve: { alias: { 'jsonc-parser': join(root, 'node_modules/jsonc-parser/lib/esm/main.js') } },
    // Native helpers that `ws` does without.
    external: ['bufferutil', 'utf-8-validate'],
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
  chmodSync(join(folder, `${name}.js`), 0o755);
}
