/** agent-browser, the command line for agents. Its background process keeps the connection between commands. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { upload, withSession } from './berth.mjs';
import { pageUrl } from './page.mjs';

const folder = dirname(createRequire(import.meta.url).resolve('agent-browser/package.json'));
const command = join(folder, 'bin/agent-browser.js');

await withSession({}, async ({ id, cdpUrl }) => {
  const run = async (...args) =>
    (await promisify(execFile)(process.execPath, [command, '--session', id, ...args], { timeout: 30_000 })).stdout.trim();
  try {
    await run('connect', cdpUrl);
    await run('open', pageUrl);
    await run('fill', '#name', 'Ada');
    await run('click', '#greet');
    assert.equal(await run('get', 'title'), 'Hello Ada');
    await upload(id, 'report.csv', 'a,b');
    await run('upload', '#file', 'report.csv');
    assert.equal(await run('get', 'title'), 'report.csv, 3 bytes');
  } finally {
    await run('close');
  }
});
