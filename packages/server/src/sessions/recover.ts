import type { EndDeps } from './end.ts';
import type { LiveSession } from './live.ts';
import { service, type SessionRecord } from './session.ts';
import { moveSession, listLiveSessionsOf } from './store.ts';
import { writeEnd } from './audited-writes.ts';

export interface RecoverDeps extends EndDeps {
  workerId: string;
  live: Map<string, LiveSession>;
}

/**
 * Ends live sessions in the store that no worker runs: those of workers without
 * a heartbeat, and this worker's own from before a crash. The reason is
 * `worker_lost`, or the one that an interrupted end already had.
 */
export async function recoverSessions(deps: RecoverDeps): Promise<void> {
  const { store, log, live, workerId } = deps;
  const silent = await deps.fleet.silentWorkers();
  for (const record of await listLiveSessionsOf(store, [...new Set([workerId, ...silent])])) {
    if (live.has(record.sessionId)) continue;
    const moved = record.endedReason ? await moveSession(store, record.sessionId, { to: 'ended' }) : await writeLost(deps, record);
    if (moved) log.warn({ session: record.sessionId }, 'session of a lost worker ended');
  }
}

/** The usage is the one that the lost worker wrote last. */
async function writeLost(deps: RecoverDeps, record: SessionRecord): Promise<boolean> {
  const { sessions: _, ...usage } = await deps.metering.readWrittenUsage(record.sessionId);
  const end = { reason: 'worker_lost', actor: service } as const;
  return writeEnd(deps, record, { to: 'ended', end, at: deps.clock.now(), lastSeen: { ...record.lastSeen, usage } });
}
