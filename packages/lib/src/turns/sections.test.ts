import assert from 'node:assert/strict';
import { it } from 'node:test';
import { longestSection, runFor, section } from './sections.ts';

const wait = (ms: number): void => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
const longestOf = (work: () => void) => {
  const fromMs = performance.now();
  work();
  return longestSection(fromMs, performance.now());
};

it('sections of one name are added up, without the sections inside them', () => {
  const longest = longestOf(() =>
    runFor({ name: 'fetch' }, () => {
      // Each is shorter than the other one, and all together far longer, also where a wait takes longer than it should.
      for (let i = 0; i < 12; i += 1) section('robots', () => wait(20));
      section('classify', () => wait(40));
      wait(10);
    }),
  );
  assert.deepEqual([longest?.name, longest?.caller?.name], ['robots', 'fetch']);
  assert.ok((longest?.ms ?? 0) >= 230);
});

it('a section returns what its work returns, and is left when the work throws', async () => {
  assert.equal(await runFor({ name: 'a' }, () => Promise.resolve(1)), 1);
  assert.throws(() => section('b', () => assert.fail()));
  assert.equal(
    longestOf(() => wait(5)),
    null,
  );
});

it('the longest section counts only the time of the call that is measured', () => {
  section('early', () => wait(30));
  assert.equal(longestOf(() => section('late', () => wait(5)))?.name, 'late');
});
