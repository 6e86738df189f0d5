import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CommandFailed, run } from './command.ts';
import { ImageFault } from './fault.ts';

const signal = new AbortController().signal;

test('a program that is missing is told with the package that has it', async () => {
  const error = await run('mmdebstrap', [], { environment: { PATH: '/nowhere' }, signal }).catch((error: unknown) => error);
  assert.ok(error instanceof ImageFault);
  assert.match(error.message, /mmdebstrap is not installed.*package mmdebstrap.*setup[.]sh image/);
});

test('a program that fails is told with its last words', async () => {
  const failing = run('/bin/sh', ['-c', 'echo first; echo "no space" >&2; exit 3'], { signal });
  await assert.rejects(failing, (error) => error instanceof CommandFailed && error.message === '/bin/sh failed: no space');
});

test('a program is ended when the build is stopped, and is waited for', async () => {
  const stop = new AbortController();
  const running = run('sleep', ['60'], { signal: stop.signal });
  stop.abort(new Error('stopped'));
  await assert.rejects(running, /stopped/);
});
