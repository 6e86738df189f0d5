/** Ends a round with a graceful restart; nothing of killed runs may remain afterwards. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { getCredits } from '@berth/contract';
import { Client } from '../harness.ts';
import type { History } from './history.ts';
import type { RoundContext } from './context.ts';

const pollMs = 100;
/** Requests whose clients timed out are still being processed. */
const leakMsMax = 60_000;
/** Loops that run before the database is read. */
const loops = ['session-recovery', 'metering', 'credit-holds', 'credit-check'];

/** Finds holds that no call uses any more, except those that a client left on purpose. */
export async function findLeakedHolds(
  { runs, reader }: RoundContext,
  { prefix, histories }: { prefix: string; histories: History[] },
): Promise<string[]> {
  const intended = histories.flatMap((history) => history.of('hold').filter(({ freedAt }) => freedAt === Number.POSITIVE_INFINITY));
  const expected = new Set(intended.map(({ id }) => id));
  for (const startedMs = performance.now(); ; await sleep(pollMs)) {
    await runs.stopFaults();
    await takeLeasesOfTheDead({ runs, reader });
    const { workers } = await runs.current();
    const results = await Promise.allSettled(workers.map((worker) => worker.runLoops(['credit-holds'])));
    const { holds } = await reader.readLedger(prefix);
    const leaks = holds.filter(({ opId }) => !expected.has(opId));
    if (leaks.length === 0 && results.every(({ status }) => status === 'fulfilled')) return [];
    if (performance.now() - startedMs > leakMsMax)
      return leaks.map(({ owner, opId, amount }) => `${amount} of ${owner} are still held for ${opId}, which has ended`);
  }
}

/** Takes the leases of killed workers that never returned. */
async function takeLeasesOfTheDead({ runs, reader }: Pick<RoundContext, 'runs' | 'reader'>): Promise<void> {
  const files = runs.abandonedFolders.map((folder) => join(folder, 'worker-id'));
  // A worker that was killed early has not written its id yet.
  await reader.takeLeases(files.filter((file) => existsSync(file)).map((file) => readFileSync(file, 'utf8').trim()));
}

/** Stops the run gracefully, starts a new one and runs its clean-up loops. Returns the number of the stopped run. */
export async function restartService({ runs, reader }: RoundContext, closingMs: number): Promise<{ lastRun: number; failures: string[] }> {
  const lastRun = await runs.restart(closingMs);
  await takeLeasesOfTheDead({ runs, reader });
  const { workers } = await runs.current();
  const answers = await Promise.all(workers.map((worker) => worker.runLoops(loops)));
  return {
    lastRun,
    failures: answers
      .filter(({ status }) => status !== 200)
      .map((answer) => `clean-up of killed workers failed: ${JSON.stringify(answer)}`),
  };
}

/** Keys reported as created must work, keys reported as revoked must not. */
export async function checkKeys(history: History, { runs, adminKey }: RoundContext): Promise<void> {
  const { workers } = await runs.current();
  for (const { keyId, raw, isRevoked } of history.of('key')) {
    const { status } = await new Client(workers[0]?.url ?? '', raw, adminKey).call(getCredits);
    if (status !== (isRevoked ? 403 : 200))
      history.addIssue(`in the end the key ${keyId}, ${isRevoked ? 'revoked' : 'made'}, was answered ${status}`);
  }
}
