import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';

const root = join(import.meta.dirname, '..');

test('the memory of a burst of large buffers goes back to the system', async () => {
  const burst = join(import.meta.dirname, 'memory-burst.fixture.ts');
  const env = { PATH: process.env.PATH, HOME: process.env.HOME, NODE_OPTIONS: `--expose-gc --import=${burst}` };
  const { stdout } = await promisify(execFile)('sh', [join(root, 'scripts/serve.sh')], { env });
  const { before, most, after } = JSON.parse(stdout) as Record<'before' | 'most' | 'after', number>;
  assert.ok(most > before + 250, `the burst took ${most - before} MB`);
  assert.ok(after < before + 60, `${after - before} MB of ${most - before} MB are held`);
});
