/** The lists of test files, from which the runs are made. */
import assert from 'node:assert/strict';
import { existsSync, globSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import * as lists from '../../scripts/test/test-files.ts';

const root = join(import.meta.dirname, '../..');
const nightlyTests = [...lists.nightlyBrowserTests, ...lists.nightlyFleetTests];
const mergeTests = [
  ...lists.isolatedUnitTests,
  ...lists.startingUnitTests,
  ...lists.browserUnitTests,
  ...lists.serialUnitTests,
  ...lists.turnTests,
  ...lists.unitTests,
  ...lists.isolatedApiTests,
  ...lists.apiTests,
  ...lists.faultTests,
  ...lists.fleetFaultTests,
  ...lists.browserTests,
  ...lists.fuzzTests,
  ...lists.fixtureTests,
];

test('each test file runs for a merge or each night, and no file runs twice', () => {
  const files = globSync(['{packages,tests,images}/**/*.test.ts'], { cwd: root, exclude: (name) => /^(node_modules|dist)$/.test(name) });
  assert.ok(files.length > 500);
  // `npm run test:site` has its packages to itself.
  assert.deepEqual([...mergeTests, ...nightlyTests, 'packages/site/site.test.ts'].toSorted(), files.toSorted());
});

test('each file with virtual machines runs for a merge', () => {
  const files = globSync(['{packages,tests,images}/**/*.microvm.ts'], { cwd: root, exclude: (name) => name === 'node_modules' });
  assert.ok(files.length > 5);
  const run = [...lists.imageTests, ...lists.machineTests];
  assert.deepEqual(
    files.filter((file) => !run.includes(file)),
    [],
  );
});

test('the files that npm test has by name exist, and run for a merge, too', () => {
  const named = lists.everyday(lists.browserTests);
  assert.deepEqual(named.toSorted(), lists.everydayBrowserTests.toSorted());
  assert.ok(named.every((file) => existsSync(join(root, file))));
});

test('the files of virtual machines that each night has besides exist', () => {
  assert.ok(lists.nightlyMachineTests.every((file) => existsSync(join(root, file))));
});
