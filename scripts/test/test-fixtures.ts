/** Fixtures have tests of their own, which run only when the fixture has changed since they last passed here. */
import { createHash } from 'node:crypto';
import { existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Goes with the installed packages, so a fresh clone tests its fixtures once. */
const stampOf = (root: string, folder: string): string => join(root, 'node_modules/.berth-fixtures', folder.replaceAll('/', '_'));

function digestOf(root: string, folder: string): string {
  const hash = createHash('sha256');
  for (const file of globSync(`${folder}/**/*.ts`, { cwd: root }).toSorted()) hash.update(file).update(readFileSync(join(root, file)));
  return hash.digest('hex');
}

/** Those of the tests whose folder has changed since they passed. */
export const changedFixtures = (root: string, tests: readonly string[]): string[] =>
  tests.filter((test) => {
    const stamp = stampOf(root, dirname(test));
    return !existsSync(stamp) || readFileSync(stamp, 'utf8') !== digestOf(root, dirname(test));
  });

/** Notes that the tests of these fixtures have passed. */
export function recordFixtures(root: string, tests: readonly string[]): void {
  for (const test of tests) {
    const stamp = stampOf(root, dirname(test));
    mkdirSync(dirname(stamp), { recursive: true });
    writeFileSync(stamp, digestOf(root, dirname(test)));
  }
}
