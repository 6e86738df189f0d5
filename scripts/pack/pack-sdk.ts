/**
 * Builds what is published of the TypeScript client: `node scripts/pack/pack-sdk.ts [FOLDER]`, by default `packages/sdk/dist`. The
 * sources run as they are here; Node strips no types below `node_modules`, so a package that people install has JavaScript.
 */
import { execFileSync } from 'node:child_process';
import { globSync } from 'node:fs';
import { copyFile, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '../..');
const source = join(root, 'packages/sdk');
const folder = resolve(process.argv[2] ?? join(source, 'dist'));

await rm(folder, { recursive: true, force: true });
await mkdir(folder, { recursive: true });
execFileSync(join(root, 'node_modules/.bin/tsc'), ['-p', join(source, 'tsconfig.build.json'), '--outDir', join(folder, 'dist')], {
  stdio: 'inherit',
});

// The compiler rewrites endings of imports in JavaScript alone.
for (const file of globSync('dist/**/*.d.ts', { cwd: folder })) {
  const text = await readFile(join(folder, file), 'utf8');
  await writeFile(join(folder, file), text.replaceAll(/(from '\.[^']*)\.ts'/g, "$1.js'"));
}

interface Manifest {
  exports: Record<string, string>;
  [name: string]: unknown;
}
const {
  private: _private,
  devDependencies: _tools,
  ...manifest
} = JSON.parse(await readFile(join(source, 'package.json'), 'utf8')) as Manifest;
const built = (path: string, ending: string): string => path.replace('./src/', './dist/').replace(/\.ts$/, ending);
/** Not in the manifest of the sources: installs of the service would take them along. */
const peers = { 'playwright-core': '>=1.40', 'puppeteer-core': '>=22' };
const published = {
  ...manifest,
  exports: Object.fromEntries(
    Object.entries(manifest.exports).map(([name, path]) => [name, { types: built(path, '.d.ts'), default: built(path, '.js') }]),
  ),
  peerDependencies: peers,
  peerDependenciesMeta: Object.fromEntries(Object.keys(peers).map((name) => [name, { optional: true }])),
  files: ['dist'],
};
await writeFile(join(folder, 'package.json'), `${JSON.stringify(published, null, 2)}\n`);
await copyFile(join(source, 'README.md'), join(folder, 'README.md'));
await copyFile(join(root, 'LICENSE'), join(folder, 'LICENSE'));
