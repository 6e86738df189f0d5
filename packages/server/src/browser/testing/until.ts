/** Polls until the condition holds; fails after `limitMs`. */
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';

export async function until(what: () => boolean | Promise<boolean>, limitMs = 8000): Promise<void> {
  const end = performance.now() + limitMs;
  while (!(await what())) {
    assert.ok(performance.now() < end, `never: ${String(what)}`);
    await sleep(10);
  }
}
