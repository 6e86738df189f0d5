/** The hook with which tests run with the built service. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { appendFileSync, cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it, type TestContext } from 'node:test';

/** A clone with two modules, of which the build has both, and one as an entry. */
function clone(t: TestContext): string {
  const root = mkdtempSync(join(tmpdir(), 'berth-built-'));
  t.after(() => rmSync(root, { recursive: true, force: true }));
  const write = (file: string, text: string): void => {
    mkdirSync(join(root, file, '..'), { recursive: true });
    writeFileSync(join(root, file), text);
  };
  write('packages/one/package.json', '{ "name": "@berth/one", "type": "module", "exports": { "./*": "./src/*" } }');
  write('packages/one/src/door.ts', `export { count } from './inner.ts'; export const from = 'the source';`);
  write('packages/one/src/inner.ts', 'export let count: number = 0;');
  write('packages/one/src/helper.ts', `export { from } from './door.ts';`);
  write('packages/server/dist/one.door.js', `export const from = 'the build'; export const count = 1;`);
  const modules = { 'packages/one/src/door.ts': 'one.door.js', 'packages/one/src/inner.ts': null };
  write('packages/server/dist/modules.json', JSON.stringify(modules));
  mkdirSync(join(root, 'node_modules/@berth'), { recursive: true });
  symlinkSync('../../packages/one', join(root, 'node_modules/@berth/one'));
  cpSync(join(import.meta.dirname, 'built.ts'), join(root, 'tests/built.ts'));
  const { stdout } = spawnSync('sha256sum', ['packages/one/src/door.ts', 'packages/one/src/inner.ts'], { cwd: root, encoding: 'utf8' });
  write('packages/server/dist/.sources', stdout);
  return root;
}

function run(root: string, code: string): { stdout: string; stderr: string } {
  writeFileSync(join(root, 'tests/a.ts'), code);
  return spawnSync(process.execPath, ['--import', './tests/built.ts', 'tests/a.ts'], { cwd: root, encoding: 'utf8' });
}

it('imports a module that the build has from there: by path, by package, and from what the build does not have', (t) => {
  const { stdout, stderr } = run(
    clone(t),
    `import { from } from '../packages/one/src/door.ts';
     import { from as byName } from '@berth/one/door.ts';
     import { from as byHelper } from '../packages/one/src/helper.ts';
     console.log([from, byName, byHelper, (await import('../packages/one/src/door.ts')).from].join());`,
  );
  assert.equal(stdout, 'the build,the build,the build,the build\n', stderr);
});

it('refuses a module that the build has inside, which would be there twice', (t) => {
  const { stderr } = run(clone(t), `import '../packages/one/src/inner.ts';`);
  assert.match(stderr, /packages\/one\/src\/inner\.ts is in the build, and is no entry of it: npm run build/);
});

it('refuses a build of other sources, and takes one whose sources were only written again', (t) => {
  const root = clone(t);
  const door = join(root, 'packages/one/src/door.ts');
  const later = new Date(Date.now() + 60_000);
  utimesSync(door, later, later);
  assert.equal(run(root, `console.log('runs')`).stdout, 'runs\n');
  appendFileSync(door, '// changed');
  utimesSync(door, later, later);
  assert.match(run(root, '').stderr, /packages\/one\/src\/door\.ts has changed since the service was built: npm run build/);
  rmSync(door);
  assert.match(run(root, '').stderr, /packages\/one\/src\/door\.ts has changed/);
});
