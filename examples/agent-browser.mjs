/** agent-browser, the command line for agents. Its background process keeps the connection between commands. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { upload, withConnectToken, withSession } from './berth.mjs';
import { pageUrl } from './page.mjs';

const folder = dirname(createRequire(import.meta.url).resolve('agent-browser/package.json'));
const command = join(folder, 'bin/agent-browser.js');

/** Calls `work` with a function that runs a command of the background process of that name, and stops it. */
async function withProcess(name, work) {
  const run = async (...args) =>
    (await promisify(execFile)(process.execPath, [command, '--session', name, ...args], { timeout: 30_000 })).stdout.trim();
  try {
    await work(run);
  } finally {
    await run('close');
  }
}

await withSession({}, ({ id, cdpUrl }) =>
  withProcess(id, async (run) => {
    await run('connect', cdpUrl);
    await run('open', pageUrl);
    await run('fill', '#name', 'Ada');
    await run('click', '#greet');
    assert.equal(await run('get', 'title'), 'Hello Ada');
    await upload(id, 'report.csv', 'a,b');
    await run('upload', '#file', 'report.csv');
    assert.equal(await run('get', 'title'), 'report.csv, 3 bytes');
  }),
);

// With an address that stays the same: each connection has a session of its own. Of an HTTP address it would drop the path.
await withConnectToken((_, address) =>
  withProcess(`token-${process.pid}`, async (run) => {
    await run('connect', address);
    await run('open', pageUrl);
    await run('fill', '#name', 'Ada');
    await run('click', '#greet');
    assert.equal(await run('get', 'title'), 'Hello Ada');
  }),
);
