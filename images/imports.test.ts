import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { test, type TestContext } from 'node:test';
import { ImageError } from './error.ts';
import { followImports } from './imports.ts';

function treeWith(t: TestContext, files: Record<string, string>): string {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'imports-')));
  t.after(() => rmSync(root, { recursive: true }));
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  return root;
}

const importedFiles = (root: string, entry: string): string[] => followImports(join(root, entry)).files.map((path) => relative(root, path));

test('the import list takes what the program imports and reads beside it, and leaves its tests and its types', (t) => {
  const root = treeWith(t, {
    'app/package.json': '{ "name": "app", "version": "1.0.0" }',
    'app/main.ts':
      `import { a } from './a.ts';\nimport type { B } from './b.ts';\n` +
      `const text = new URL('./words.txt', import.meta.url);\nimport 'node:fs';\n`,
    'app/a.ts': `export * from 'thing/part';\n// import './never.ts'\n/* from './nor-this.ts' */\n`,
    'app/b.ts': '',
    'app/words.txt': `import './words-are-not-code.ts'`,
    'app/main.test.ts': `import './main.ts';`,
    'node_modules/thing/package.json':
      '{ "name": "thing", "version": "2.0.0", ' +
      '"exports": { "./part": { "types": "./part.d.ts", "import": "./part.js", "require": "./part.cjs" } } }',
    'node_modules/thing/part.js': `export {} from './deep.js';`,
    'node_modules/thing/deep.js': '',
    'node_modules/thing/part.d.ts': '',
    'node_modules/thing/part.cjs': '',
  });
  assert.deepEqual(importedFiles(root, 'app/main.ts'), [
    'app/a.ts',
    'app/b.ts',
    'app/main.ts',
    'app/words.txt',
    'node_modules/thing/deep.js',
    'node_modules/thing/part.js',
  ]);
  const { packages } = followImports(join(root, 'app/main.ts'));
  assert.deepEqual(
    packages.map((path) => relative(root, path)),
    ['app/package.json', 'node_modules/thing/package.json'],
  );
});

test('a linked package is imported from its real path', (t) => {
  const root = treeWith(t, {
    'packages/app/package.json': '{}',
    'packages/app/main.ts': `import '@own/words';`,
    'packages/words/package.json': '{ "name": "@own/words", "version": "1.0.0", "exports": { ".": "./words.ts" } }',
    'packages/words/words.ts': '',
    'node_modules/@own/.keep': '',
  });
  symlinkSync('../../packages/words', join(root, 'node_modules/@own/words'));
  assert.deepEqual(importedFiles(root, 'packages/app/main.ts'), ['packages/app/main.ts', 'packages/words/words.ts']);
});

test('the error for a missing import names the importer', (t) => {
  const root = treeWith(t, { 'package.json': '{}', 'main.ts': `import './absent.ts';`, 'other.ts': `import 'absent';` });
  assert.throws(
    () => importedFiles(root, 'main.ts'),
    (error) => error instanceof ImageError && /absent[.]ts is missing/.test(error.message),
  );
  assert.throws(
    () => importedFiles(root, 'other.ts'),
    (error) => error instanceof ImageError && /other[.]ts imports absent/.test(error.message),
  );
});

test("all files of this repository's agent are found", () => {
  const { files } = followImports(join(import.meta.dirname, '../packages/guest/src/main.ts'));
  const names = files.map((path) => relative(join(import.meta.dirname, '..'), path));
  for (const name of [
    'packages/guest/src/identity/kernel.pl',
    'packages/guest/src/browser/openbox.xml',
    'packages/contract/src/guest.ts',
    'node_modules/zod/index.js',
  ])
    assert.ok(names.includes(name), name);
  assert.ok(!names.some((name) => /[.]test[.]ts$|[.]d[.]ts$|[.]map$/.test(name)));
});
