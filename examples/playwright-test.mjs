/** Playwright Test: runs playwright-test.spec.mjs, whose fixture `browser` is the browser of a session. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { withSession } from './berth.mjs';

const runner = join(dirname(createRequire(import.meta.url).resolve('playwright/package.json')), 'cli.js');
const output = await mkdtemp(join(tmpdir(), 'berth-example-'));

await withSession({}, async ({ cdpUrl }) => {
  const env = { ...process.env, BERTH_CDP_URL: cdpUrl };
  const args = [runner, 'test', 'playwright-test.spec.mjs', '--workers=1', `--output=${output}`, '--reporter=line'];
  await promisify(execFile)(process.execPath, args, { cwd: import.meta.dirname, env });
});
await rm(output, { recursive: true, force: true });
