/**
 * Sequences of generated requests to a live session. Every reply must be one
 * that the OpenAPI document declares, and none an internal error.
 *
 *     BERTH_TEST_SEED=17 node_modules/.bin/node --test tests/fuzz/api.test.ts       repeats a run
 *     BERTH_FUZZ_SECONDS=600 node_modules/.bin/node --test tests/fuzz/api.test.ts   explores for ten minutes
 */
import { after, before, it } from 'node:test';
import * as fc from 'fast-check';
import { adminKey, startApp, type TestApp } from '../harness.ts';
import { assertUnharmed, explore, Failures, heapBytes } from './fuzz-run.ts';
import { requests, type FuzzRequest } from './requests.ts';
import { SessionRun } from './session-run.ts';

let served: TestApp;
const failures = new Failures();
before(async () => {
  served = await startApp({ log: failures.log, environment: { BERTH_AUTH_FAILURES_PER_MINUTE_MAX: '1000000' } });
});
after(() => served.close());

async function play(sequence: readonly FuzzRequest[]): Promise<void> {
  const run = await SessionRun.open({ ...served, adminKey, kind: 'full_browser' });
  try {
    for (const request of sequence) await run.send(request);
    await run.close();
  } catch (error) {
    throw new Error(failures.text, { cause: error });
  }
}

it('the service answers any sequence of API requests as its description says', { timeout: 86_400_000 }, async () => {
  const sequences = fc.array(requests, { minLength: 1, maxLength: 8 });
  for (const sequence of fc.sample(sequences, { seed: 1, numRuns: 20 })) await play(sequence);
  const before = heapBytes();
  await explore('requests to a live session', sequences, play, 200);
  await assertUnharmed(served, before);
});
