import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { eventually } from './harness.ts';

const root = join(import.meta.dirname, '..');
const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(BERTH_|NODE_TEST)/.test(name)));

const start = (source: string) =>
  spawn(process.execPath, ['--test-reporter=spec', '--input-type=module', '-e', source], {
    cwd: root,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });

describe('a process of tests', () => {
  it('a process of tests ends with its report and says why when something holds it open', async () => {
    const child = start(`
      import { createServer } from 'node:net';
      import { before, it } from 'node:test';
      import { endAfterTests } from './tests/end-of-file.ts';
      endAfterTests(100);
      setInterval(() => {}, 1000);
      before(() => { createServer().listen(0); throw new Error('on purpose'); });
      it('is a promise', () => {});`);
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
    const [code] = (await once(child, 'close')) as [number];
    assert.equal(code, 1);
    assert.match(output, /this holds their process open: .*TCPServerWrap/);
    assert.match(output, /failing tests:[^]*on purpose/);
  });

  it('a process of tests that is killed leaves no database server', async () => {
    const child = start(`
      import { startTestServer } from './packages/server/testing/test-store.ts';
      const { url } = await startTestServer();
      setInterval(() => {}, 1000); // It has nothing else to wait for, and would end before it is killed.
      console.log(new URL(url).searchParams.get('host'));`);
    const [chunk] = (await once(child.stdout, 'data')) as [Buffer];
    const socket = join(chunk.toString().trim(), '.s.PGSQL.5432');
    assert.ok(existsSync(socket));
    child.kill('SIGKILL');
    await eventually('the server has ended', () => !existsSync(socket));
  });
});
