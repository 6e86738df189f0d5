import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, describe, it } from 'node:test';
import { affectedTests, listChanges } from '../../scripts/test/test-affected.ts';

const fetch = 'packages/server/src/work/fetch';
const graph = new Map([
  ['packages/lib/src/clock.ts', []],
  ['packages/lib/src/clock.test.ts', ['packages/lib/src/clock.ts']],
  ['packages/egress/src/gate.ts', ['packages/lib/src/clock.ts']],
  ['packages/egress/src/gate.test.ts', ['packages/egress/src/gate.ts']],
  [`${fetch}/run.ts`, ['packages/egress/src/gate.ts']],
  [`${fetch}/run.test.ts`, [`${fetch}/run.ts`]],
  [`${fetch}/routes.ts`, [`${fetch}/run.ts`]],
  ['packages/server/src/boot/app.ts', [`${fetch}/routes.ts`]],
  ['tests/harness.ts', ['packages/server/src/boot/app.ts']],
  ['tests/api/work/post-v1-fetch.test.ts', ['tests/harness.ts']],
  ['tests/api/accounts/get-v1-keys.test.ts', ['tests/harness.ts']],
  ['tests/e2e/fetch/fetch-modes.test.ts', ['tests/harness.ts']],
  ['tests/e2e/watch/vnc.test.ts', ['tests/harness.ts']],
]);

describe('the tests that a change concerns', () => {
  const root = mkdtempSync(join(tmpdir(), 'berth-affected-'));
  after(() => rmSync(root, { recursive: true, force: true }));
  const write = (file: string, text: string): void => {
    mkdirSync(dirname(join(root, file)), { recursive: true });
    writeFileSync(join(root, file), text);
  };
  write(`${fetch}/routes.ts`, "import { fetchPage } from '@berth/contract';\n");
  const affectedBy = (...changed: string[]): string[] => affectedTests(root, changed, graph);

  it('the affected tests are those that import the changed file, the nearest first', () => {
    assert.deepEqual(affectedBy('packages/lib/src/clock.ts').slice(0, 3), [
      'packages/lib/src/clock.test.ts',
      'packages/egress/src/gate.test.ts',
      `${fetch}/run.test.ts`,
    ]);
  });

  it('the affected API and end-to-end tests are those of the endpoints that reach the changed file', () => {
    assert.deepEqual(affectedBy(`${fetch}/run.ts`).toSorted(), [
      `${fetch}/run.test.ts`,
      'tests/api/work/post-v1-fetch.test.ts',
      'tests/e2e/fetch/fetch-modes.test.ts',
    ]);
  });

  it('a changed test is affected, and nothing else', () => {
    assert.deepEqual(affectedBy('tests/e2e/watch/vnc.test.ts'), ['tests/e2e/watch/vnc.test.ts']);
  });

  it('the changes are those since a commit, with files that are not committed and new files', () => {
    const git = (...words: string[]): string =>
      execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@example.com', ...words], { cwd: root, encoding: 'utf8' }).trim();
    git('init', '--quiet');
    git('add', '.');
    git('commit', '--quiet', '--message', 'first');
    const base = git('rev-parse', 'HEAD');
    write('committed.ts', '');
    git('add', '.');
    git('commit', '--quiet', '--message', 'second');
    write(`${fetch}/routes.ts`, '');
    write('new.ts', '');
    assert.deepEqual(listChanges(root, 'HEAD').toSorted(), ['new.ts', `${fetch}/routes.ts`]);
    assert.deepEqual(listChanges(root, base).toSorted(), ['committed.ts', 'new.ts', `${fetch}/routes.ts`]);
  });
});
