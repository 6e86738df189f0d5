import type { Roster } from './roster.ts';
import { deleteMachine, deleteMachinesOfLost, machineIdsOf } from './store.ts';

/** Long enough to be seen as failed by whoever looks for them. */
const lostSecondsMax = 600;

/**
 * A stray is a machine that the runtime finds on this host and that no berth
 * of this worker claims: left by a worker that died, or by an end that failed.
 * It is ended by the incarnation that was seen, so that whatever took its
 * process id since is safe. Rows that point at nothing go too, in the end
 * those of workers that do not come back.
 */
export async function reapStrays(fleet: Roster): Promise<void> {
  const { runtime, store, workerId, log } = fleet.deps;
  const rows = await machineIdsOf(store, workerId);
  const traces = await runtime.list();
  for (const trace of traces) {
    if (fleet.berths.has(trace.id)) continue;
    log.warn({ vm: trace.id, pids: trace.pids }, 'ending a stray machine');
    await runtime.destroy(trace);
    await deleteMachine(store, trace.id);
  }
  const present = new Set(traces.map((trace) => trace.id));
  for (const id of rows) if (!fleet.berths.has(id) && !present.has(id)) await deleteMachine(store, id);
  await deleteMachinesOfLost(store, workerId, lostSecondsMax);
}
