/**
 * Builds the package `@berth/berth`: the command line with the built service, its pages and its documentation, as a folder for
 * `npm pack`. Run after `sh scripts/setup.sh`: `node scripts/pack/pack-berth.ts [FOLDER]`, by default `node_modules/.cache/berth-package`.
 */
import { cpSync, existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { buildCommandLine } from './cli.ts';
import { root } from './program.ts';

interface Manifest {
  version: string;
  dependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
}
const manifestOf = (path: string): Manifest => JSON.parse(readFileSync(join(root, path, 'package.json'), 'utf8')) as Manifest;

/** Packages that the built service finds in `node_modules`; all others are inside it. */
const outside = { server: ['pg', 'piscina'], lib: ['pino', 'pino-pretty'], reading: ['chardetng-wasm'] };
/** Native, and not needed: without it frames of WebSockets are unmasked more slowly. Its prebuilt files need no compiler. */
const optional = ['bufferutil'];

const built = 'packages/server/dist';
const programs = ['server.main.js', 'server.boot.template-main.js'];

/** What the programs load, of a build that has entries for tests as well. */
function listBuilt(): string[] {
  const found = new Set(programs);
  for (const name of found)
    for (const [, file = ''] of readFileSync(join(root, built, name), 'utf8').matchAll(/["'`]\.\/([\w.-]+\.js)["'`]/g))
      if (existsSync(join(root, built, file))) found.add(file);
  const maps = [...found].map((name) => `${name}.map`).filter((name) => existsSync(join(root, built, name)));
  return [...[...found, ...maps].map((name) => join(built, name)), ...globSync(`${built}/page-scripts/**/*.js`, { cwd: root })];
}

/** Files that modules of the service read beside their sources, and what its documentation is made from. */
const besides = [
  'packages/*/src/**/*.{sql,pl,css,xml,html,json}',
  'packages/server/src/docs/docs.js',
  'packages/web/dist/**/*',
  'docs/**/*',
  'examples/*.mjs',
  'examples/python/*.py',
  '{README,ARCHITECTURE,CONTRIBUTING,CHANGELOG,SECURITY}.md',
  'LICENSE',
  'openapi.json',
  'scripts/{serve,host-packages}.sh',
];

function pick(versions: Manifest, names: readonly string[]): Record<string, string> {
  const all = { ...versions.dependencies, ...versions.optionalDependencies };
  return Object.fromEntries(names.map((name) => [name, all[name] ?? fail(`no version of ${name}`)]));
}
function fail(message: string): never {
  throw new Error(message);
}

export async function packBerth(folder: string): Promise<void> {
  rmSync(folder, { recursive: true, force: true });
  await buildCommandLine(join(folder, 'dist'));
  cpSync(join(root, 'packages/cli/skills'), join(folder, 'skills'), { recursive: true });
  const files = [...listBuilt(), ...globSync(besides, { cwd: root, exclude: (name) => name.endsWith('.test.ts') })];
  for (const file of files) {
    const target = join(folder, file);
    mkdirSync(dirname(target), { recursive: true });
    if (existsSync(join(root, file))) cpSync(join(root, file), target, { recursive: true });
  }
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(createManifest(), null, 2)}\n`);
}

function createManifest(): Record<string, unknown> {
  const [whole, server] = [manifestOf('.'), manifestOf('packages/server')];
  const dependencies = Object.entries(outside).map(([name, names]) => pick(manifestOf(`packages/${name}`), names));
  const embedded = Object.keys(server.optionalDependencies ?? {});
  return {
    name: '@berth/berth',
    version: whole.version,
    description: 'A self-hosted browser cloud: the service with its pages, and its command line.',
    license: 'Apache-2.0',
    type: 'module',
    bin: { berth: 'dist/berth.js' },
    os: ['linux'],
    engines: { node: '>=20.19' },
    dependencies: Object.assign({}, ...dependencies) as Record<string, string>,
    optionalDependencies: { ...whole.optionalDependencies, ...pick(server, [...embedded, ...optional]) },
  };
}

if (import.meta.main) {
  const folder = resolve(process.argv[2] ?? join(root, 'node_modules/.cache/berth-package'));
  await packBerth(folder);
  console.log(`npm pack ${folder}`);
}
