import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CommandError, run } from './command.ts';
import { ImageError } from './error.ts';

const signal = new AbortController().signal;

test('the error for a missing program names its package', async () => {
  const error = await run('mmdebstrap', [], { environment: { PATH: '/nowhere' }, signal }).catch((error: unknown) => error);
  assert.ok(error instanceof ImageError);
  assert.match(error.message, /mmdebstrap is not installed.*package mmdebstrap.*setup[.]sh image/);
});

test('the error of a failed program has its last output', async () => {
  const failing = run('/bin/sh', ['-c', 'echo first; echo "no space" >&2; exit 3'], { signal });
  await assert.rejects(failing, (error) => error instanceof CommandError && error.message === '/bin/sh failed: no space');
});

test('an abort of a command ends the program and waits for it', async () => {
  const stop = new AbortController();
  const running = run('sleep', ['60'], { signal: stop.signal });
  stop.abort(new Error('stopped'));
  await assert.rejects(running, /stopped/);
});
