/**
 * Runs many test files one after another in this process, each as a suite of
 * its own, so that what all of them import is loaded once. For files that
 * share nothing: no variable of the environment, no figure of the process. A
 * file that needs a process of its own is given alone.
 * Run: `node scripts/test/test-batch.ts FILE…`.
 */
import { resolve } from 'node:path';
import { suite } from 'node:test';
import { pathToFileURL } from 'node:url';
import { endAfterTests } from '../../tests/end-of-file.ts';

endAfterTests();

for (const file of process.argv.slice(2)) void suite(file, () => import(pathToFileURL(resolve(file)).href));
