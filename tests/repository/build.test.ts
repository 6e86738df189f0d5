/** The built service, which `sh scripts/setup.sh` makes of the sources. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, globSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';

const root = join(import.meta.dirname, '../..');
const built = join(root, 'packages/server/dist');

describe('the built service', () => {
  it('the built service names the file and the line of the source in the stack trace of an error', async () => {
    const thrower = join(import.meta.dirname, '../built-error.fixture.ts');
    const env = { PATH: process.env.PATH, HOME: process.env.HOME, NODE_OPTIONS: `--import=${thrower}` };
    const { stdout } = await promisify(execFile)('sh', [join(root, 'scripts/serve.sh')], { env });
    const [, file = '', line = ''] = /\((?:\S*\/)?(packages\/server\/src\/\S+\.ts):(\d+):\d+\)/.exec(stdout) ?? assert.fail(stdout);
    const lines = readFileSync(join(root, file), 'utf8').split('\n');
    assert.match(lines[Number(line) - 1] ?? '', /new ConfigError\(/, stdout);
  });

  it('the built service sends pages the same code as the sources do', async () => {
    const folder = join(root, 'packages/page-scripts/src');
    const files = globSync('**/*.ts', { cwd: folder }).filter((name) => !name.endsWith('.test.ts'));
    assert.ok(files.length > 20, files.join(' '));
    for (const file of files) {
      const source = await functionsOf(join(folder, file));
      assert.deepEqual(await functionsOf(join(built, 'page-scripts', file.replace(/\.ts$/, '.js'))), source, file);
    }
  });

  it('the built service finds each thread, and each file that a module reads beside its source', () => {
    const kinds = { '.js': 0, other: 0 };
    for (const file of readdirSync(built).filter((name) => name.endsWith('.js'))) {
      const code = readFileSync(join(built, file), 'utf8');
      const base = pathToFileURL(join(built, file));
      for (const [, path = '', source] of code.matchAll(
        /new URL\("([^"]+)", (?:import\.meta\.url|new URL\("([^"]+)", import\.meta\.url\))\)/g,
      )) {
        if (path.startsWith('..') && path.endsWith('.ts')) continue;
        const found = new URL(path, source === undefined ? base : new URL(source, base));
        assert.ok(existsSync(found), `${file}: ${found.href}`);
        kinds[path.endsWith('.js') ? '.js' : 'other'] += 1;
      }
    }
    assert.ok(kinds['.js'] >= 4 && kinds.other >= 5, JSON.stringify(kinds));
  });

  it('page code is in no file where a bundler could rename what it calls', () => {
    for (const map of globSync('*.map', { cwd: built })) {
      const { sources } = JSON.parse(readFileSync(join(built, map), 'utf8')) as { sources: string[] };
      assert.deepEqual(
        sources.filter((source) => source.includes('packages/page-scripts/') || source.includes('../page-scripts/src/')),
        [],
        map,
      );
    }
  });
});

async function functionsOf(file: string): Promise<Record<string, string>> {
  const module = (await import(pathToFileURL(file).href)) as Record<string, unknown>;
  return Object.fromEntries(Object.entries(module).map(([name, value]) => [name, String(value)]));
}
