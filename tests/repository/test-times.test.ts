import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import { TestTimes } from '../../scripts/test/test-times.ts';

function withTree(work: (root: string) => void): void {
  const root = mkdtempSync(join(tmpdir(), 'berth-times-'));
  try {
    for (const [file, size] of Object.entries({ 'small.test.ts': 10, 'middle.test.ts': 100, 'large.test.ts': 1000 }))
      writeFileSync(join(root, file), 'x'.repeat(size));
    work(root);
  } finally {
    rmSync(root, { recursive: true });
  }
}
const all = ['small.test.ts', 'middle.test.ts', 'large.test.ts'];

describe('the order of test files', () => {
  it('the order of test files is by size where nothing was measured, as in a fresh clone', () =>
    withTree((root) => assert.deepEqual(TestTimes.read(root).longestFirst(all), ['large.test.ts', 'middle.test.ts', 'small.test.ts'])));

  it('the order of test files has end-to-end tests before longer tests of the API, and those before longer unit tests, where nothing was measured', () =>
    withTree((root) => {
      const files = { 'packages/egress/src/a.test.ts': 3000, 'tests/api/b.test.ts': 2000, 'tests/e2e/c.test.ts': 1000 };
      for (const [file, size] of Object.entries(files)) {
        mkdirSync(dirname(join(root, file)), { recursive: true });
        writeFileSync(join(root, file), 'x'.repeat(size));
      }
      const times = TestTimes.read(root);
      assert.deepEqual(times.longestFirst(Object.keys(files)), Object.keys(files).toReversed());
      assert.equal(times.estimates(Object.keys(files)).get('tests/api/b.test.ts'), 3000, 'milliseconds');
    }));

  it('the order of test files is by the times of the last run, which keeps those of files that it left out', () =>
    withTree((root) => {
      TestTimes.read(root).write(new Map(Object.entries({ 'small.test.ts': 900, 'middle.test.ts': 5, 'large.test.ts': 80 })));
      TestTimes.read(root).write(new Map([['large.test.ts', 1.6]]));
      assert.deepEqual(TestTimes.read(root).longestFirst(all), ['small.test.ts', 'middle.test.ts', 'large.test.ts']);
    }));

  it('the order of test files has one that was never measured among the others by its size', () =>
    withTree((root) => {
      TestTimes.read(root).write(new Map(Object.entries({ 'small.test.ts': 1000, 'large.test.ts': 100_000 })));
      assert.deepEqual(TestTimes.read(root).longestFirst(all), ['large.test.ts', 'middle.test.ts', 'small.test.ts']);
    }));

  it('the order of test files does not need the file of times to be readable', () =>
    withTree((root) => {
      const folder = join(root, 'node_modules/.cache/berth');
      mkdirSync(folder, { recursive: true });
      writeFileSync(join(folder, 'test-times.json'), '{"small.test.ts": 9');
      assert.equal(TestTimes.read(root).longestFirst(all)[0], 'large.test.ts');
    }));
});
