/** Waiting for what happens elsewhere, in tests, with a patience that a slow machine does not exhaust. */
import { setTimeout as sleep } from 'node:timers/promises';
import { clockSlowness } from '../../../tests/yardstick.ts';

/** A machine that is slower than this many times is not waited for any longer, as by the runner of tests. */
const slownessMax = 4;

/**
 * Polls until `read` returns a value that is neither undefined nor false, and returns it. `withinMs` is for two idle cores; a machine
 * that turns out to be slower when the time is over gets as many times as much.
 * @throws Error with `what` when it does not happen in time
 */
export async function eventually<T>(
  what: string,
  read: () => Promise<T | undefined | false> | T | undefined | false,
  withinMs = 20_000,
): Promise<T> {
  const since = performance.now();
  for (let slowness = 0; ;) {
    const result = await read();
    if (result !== undefined && result !== false) return result;
    const ms = performance.now() - since;
    if (ms >= withinMs * Math.max(1, slowness)) {
      if (slowness > 0) throw new Error(`not within ${Math.round(withinMs * slowness)} ms: ${what}`);
      slowness = Math.min(slownessMax, clockSlowness());
    }
    // A condition is often a request: what takes long is asked for less often.
    await sleep(Math.min(5 + ms / 10, 50));
  }
}
