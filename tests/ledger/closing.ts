/** The end of a round: an orderly one, after which nothing may be left of all that died before. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { getCredits } from '@berth/contract';
import { Client } from '../harness.ts';
import type { History } from './history.ts';
import type { World } from './world.ts';

const pauseMs = 100;
/** What impatient clients have left is still being done. */
const leakMsMax = 10_000;
/** What they have to do before the books are read. */
const loops = ['session-recovery', 'metering', 'credit-holds', 'credit-check'];

/** Nobody waits for anything any more: what is still kept back for a call was forgotten, but for what a client has left on purpose. */
export async function findLeaks(
  { lives, reader }: World,
  { prefix, histories }: { prefix: string; histories: History[] },
): Promise<string[]> {
  const kept = histories.flatMap((history) => history.of('hold').filter(({ freedAt }) => freedAt === Number.POSITIVE_INFINITY));
  const expected = new Set(kept.map(({ id }) => id));
  for (const startedMs = performance.now(); ; await wait(pauseMs)) {
    await lives.leaveInPeace();
    await silenceTheDead({ lives, reader });
    const { workers } = await lives.current();
    const turns = await Promise.allSettled(workers.map((worker) => worker.turn(['credit-holds'])));
    const { holds } = await reader.readLedger(prefix);
    const leaks = holds.filter(({ opId }) => !expected.has(opId));
    if (leaks.length === 0 && turns.every(({ status }) => status === 'fulfilled')) return [];
    if (performance.now() - startedMs > leakMsMax)
      return leaks.map(({ owner, opId, amount }) => `${amount} of ${owner} are held for ${opId}, which is over`);
  }
}

/** Workers that were killed and did not come back. */
async function silenceTheDead({ lives, reader }: Pick<World, 'lives' | 'reader'>): Promise<void> {
  const files = lives.abandonedFolders.map((folder) => join(folder, 'worker-id'));
  // Who was killed early enough has not even written down who it is.
  await reader.silence(files.filter((file) => existsSync(file)).map((file) => readFileSync(file, 'utf8').trim()));
}

/** An orderly end of a life, and a start after which the loops have put away what the dead have left. Tells which life it was. */
export async function closeBooks({ lives, reader }: World, closingMs: number): Promise<{ lastLife: number; failures: string[] }> {
  const lastLife = await lives.restart(closingMs);
  await silenceTheDead({ lives, reader });
  const { workers } = await lives.current();
  const answers = await Promise.all(workers.map((worker) => worker.turn(loops)));
  return {
    lastLife,
    failures: answers
      .filter(({ status }) => status !== 200)
      .map((answer) => `what the dead have left was not put away: ${JSON.stringify(answer)}`),
  };
}

/** Those that were told to be made open the door, those that were told to be revoked do not. */
export async function tryKeys(history: History, { lives, adminKey }: World): Promise<void> {
  const { workers } = await lives.current();
  for (const { keyId, raw, isRevoked } of history.of('key')) {
    const { status } = await new Client(workers[0]?.url ?? '', raw, adminKey).call(getCredits);
    if (status !== (isRevoked ? 403 : 200))
      history.complain(`in the end the key ${keyId}, ${isRevoked ? 'revoked' : 'made'}, was answered ${status}`);
  }
}
