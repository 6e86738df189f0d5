import { cpus } from 'node:os';
import { setTimeout as wait } from 'node:timers/promises';
import type { Roster } from './roster.ts';
import { idleAgeMsMax } from './machine.ts';

/** Below this share of idle processor the machines in use need it more than the pool does. */
const idleShareMin = 0.5;
const sampleMs = 150;
/** However busy the host is, the pool grows by one after this long: or a steady load would empty it for good. */
const deferMsMax = 10_000;

/**
 * One turn: replaces what is too old, ends what is too much, and boots at most
 * one machine. One at a time, because a pool that fills all at once is of no
 * use to anyone while it does.
 */
export async function refillPool(fleet: Roster, signal: AbortSignal): Promise<void> {
  if (fleet.stopping) return;
  await dropSurplus(fleet);
  const { poolTarget } = fleet.deps;
  if (fleet.count('ready') + fleet.count('warming') >= poolTarget) return;
  if (!(await hostIsCalm(fleet, signal))) return;
  await fleet.boot('headless', null, signal);
  if (fleet.count('ready') < poolTarget) fleet.refill.nudge();
}

async function dropSurplus(fleet: Roster): Promise<void> {
  const { clock, poolTarget } = fleet.deps;
  const ready = [...fleet.berths.values()].filter((berth) => berth.state === 'ready');
  const tooOld = ready.filter((berth) => berth.machine && clock.monotonicMs() - berth.machine.readyMs > idleAgeMsMax);
  const fresh = ready.filter((berth) => !tooOld.includes(berth));
  for (const berth of [...tooOld, ...fresh.slice(poolTarget)]) await fleet.release(berth.id);
}

/** Waits for a moment in which sessions leave the processor alone. True at once where no session runs. */
async function hostIsCalm(fleet: Roster, signal: AbortSignal): Promise<boolean> {
  const { clock } = fleet.deps;
  const since = clock.monotonicMs();
  while (fleet.count('assigned') > 0 || fleet.count('draining') > 0) {
    if (clock.monotonicMs() - since > deferMsMax) return true;
    if ((await idleShare(signal)) >= idleShareMin) return true;
    if (signal.aborted) return false;
  }
  return true;
}

async function idleShare(signal: AbortSignal): Promise<number> {
  const before = processorTimes();
  await wait(sampleMs, undefined, { signal, ref: false }).catch(() => undefined);
  const after = processorTimes();
  const total = after.total - before.total;
  return total > 0 ? (after.idle - before.idle) / total : 1;
}

function processorTimes(): { idle: number; total: number } {
  let idle = 0;
  let total = 0;
  for (const { times } of cpus()) {
    idle += times.idle;
    total += times.idle + times.user + times.nice + times.sys + times.irq;
  }
  return { idle, total };
}
