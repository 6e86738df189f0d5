import type { FleetContext } from './slots.ts';
import { deleteMachine, deleteLostMachines, listMachineIds } from './store.ts';

/** Long enough for operators to see these machines as failed. */
const lostSecondsMax = 600;

/**
 * Ends orphans: machines that the runtime finds on this host and that have no
 * slot, left by a crashed worker or a failed release. The process identity is
 * verified, so that a process that reuses a pid is safe. Also deletes rows
 * without a machine, and eventually those of lost workers.
 */
export async function reapOrphans(fleet: FleetContext): Promise<void> {
  const { runtime, store, workerId, log } = fleet.deps;
  const rows = await listMachineIds(store, workerId);
  const artifacts = await runtime.list();
  for (const artifact of artifacts) {
    if (fleet.slots.has(artifact.id)) continue;
    log.warn({ vm: artifact.id, pids: artifact.pids }, 'orphan machine found');
    await runtime.destroy(artifact);
    await deleteMachine(store, artifact.id);
  }
  const present = new Set(artifacts.map((artifact) => artifact.id));
  for (const id of rows) if (!fleet.slots.has(id) && !present.has(id)) await deleteMachine(store, id);
  await deleteLostMachines(store, workerId, lostSecondsMax);
}
