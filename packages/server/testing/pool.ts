/** Helpers for tests: workers that exist as rows only. */
import type { Tables } from '../src/store/store.ts';
import { holdLease, readLease, writeBeat, type Beat, type LeaseHolder, type WorkerReport } from '../src/fleet/pool/store.ts';

export { leaseTiming } from '../src/fleet/pool/lease/lease.ts';
export { LeaseView } from '../src/fleet/pool/lease/lease-view.ts';
export { watchedMax } from '../src/fleet/pool/store.ts';

/** The report of a worker with room for ten sessions. */
export const reportOf = (worker: Partial<WorkerReport> & Pick<WorkerReport, 'workerId'>): WorkerReport => ({
  region: 'local',
  url: '',
  fleetAddress: null,
  startedAt: new Date(0),
  version: 'test',
  kinds: ['headless', 'full_browser'],
  sessions: 0,
  sessionsMax: 10,
  machinesLeft: null,
  admitting: true,
  processorsBusy: false,
  warm: { headless: 0, full_browser: 0 },
  isStopping: false,
  registryVersion: 'builtin',
  ...worker,
});

/** The heartbeat of such a worker, which holds its lease from the first one on. */
export async function beat(tables: Tables, worker: Partial<WorkerReport> & Pick<WorkerReport, 'workerId'>): Promise<Beat> {
  const own: LeaseHolder = { ...reportOf(worker), holder: 'test', dataFolder: null, leaseMs: 8000 };
  const stored = await readLease(tables, own.workerId);
  const epoch = stored?.epoch ?? (await holdLease(tables, own, undefined)) ?? 1;
  return writeBeat(tables, own, epoch);
}
