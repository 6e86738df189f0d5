/** What all fuzz tests share: the seed, how long they run, and what must hold afterwards. */
import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { setFlagsFromString } from 'node:v8';
import { inspect } from 'node:util';
import { runInNewContext } from 'node:vm';
import { endAnySession, health, poolKinds, resizePool } from '@berth/contract';
import * as fc from 'fast-check';
import { silentLog, type Log } from '@berth/lib/log.ts';
import { eventually, type TestApp } from '../harness.ts';

const { BERTH_TEST_SEED: seedGiven, BERTH_FUZZ_SECONDS: secondsGiven } = process.env;

/** The short run repeats itself, so that it fails only where the service has changed. The long one explores. */
const seed = Number(seedGiven ?? (secondsGiven ? randomInt(1, 2 ** 31) : 1));
const isLong = secondsGiven !== undefined;
const secondsMax = Number(secondsGiven ?? 8);

/** How much the heap may have grown, after a collection. */
const heapGrowthMax = 1.5;

/**
 * Runs the property until the number of runs or the time is used up. A failure
 * shows the seed and the smallest input that fast-check has found.
 */
export async function explore<T>(name: string, inputs: fc.Arbitrary<T>, play: (input: T) => Promise<void>, runs: number): Promise<void> {
  console.log(`# ${name}: BERTH_TEST_SEED=${seed}`);
  let running = Promise.resolve();
  const property = fc.asyncProperty(inputs, (input) => (running = play(input)));
  await fc.assert(property, {
    seed,
    numRuns: isLong ? 1_000_000_000 : runs,
    interruptAfterTimeLimit: secondsMax * 1000,
    markInterruptAsFailure: false,
  });
  // One that the end of the time interrupted.
  await running;
}

/** Retains the last error of the log, which says what an internal error was. */
export class Failures {
  text = 'no error in the log';
  readonly log: Log = {
    ...silentLog,
    error: (fields, message) => {
      this.text = `${message}: ${inspect(fields, { depth: 5 })}`;
    },
    child: () => this.log,
  };
}

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

export function heapBytes(): number {
  collect();
  return process.memoryUsage().heapUsed;
}

/** The service is healthy, has no session and no machine left, and gives its memory back. */
export async function assertUnharmed(served: TestApp, heapBytesBefore: number): Promise<void> {
  const live = [...served.app.sessions.live.values()];
  assert.deepEqual(
    live.filter(({ record, status }) => record.settings.purpose !== 'fetch' && status === 'ready').map(({ record }) => record.sessionId),
    [],
    'sessions are left',
  );
  // Machines of fetches wait for the next fetch.
  for (const { record } of live) await served.call(endAnySession, { params: { session_id: record.sessionId } });
  await eventually('no session is left', () => served.app.sessions.live.size === 0);
  for (const kind of poolKinds) await served.call(resizePool, { body: { target: 0, kind } });
  await eventually('no machine is left', () => served.runtime.machines.size === 0);
  await eventually('the service is healthy', async () => (await served.call(health)).body.status === 'ok');
  await eventually('memory is given back', () => heapBytes() < heapBytesBefore * heapGrowthMax);
}
