import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { closeSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { acquireLock } from './lock.ts';

test('a second image build waits for the first, and for the last program that it has started', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'lock-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const signal = new AbortController().signal;
  const path = join(folder, 'lock');
  const first = await acquireLock(path, { signal, onWait: () => assert.fail('nobody is there') });
  const program = spawn('cat', { stdio: ['pipe', 'ignore', 'ignore', first] });
  closeSync(first);
  const waits = Promise.withResolvers<string>();
  const second = acquireLock(path, { signal, onWait: () => waits.resolve('waits') });
  assert.equal(await Promise.race([second, waits.promise]), 'waits');
  program.stdin?.end();
  closeSync(await second);
});

test('waiting for another image build can be aborted', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'lock-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'lock');
  const first = await acquireLock(path, { signal: new AbortController().signal, onWait: () => {} });
  const stop = new AbortController();
  await assert.rejects(acquireLock(path, { signal: stop.signal, onWait: () => stop.abort(new Error('enough')) }), /enough/);
  closeSync(first);
});
