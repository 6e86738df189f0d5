import type { EndDeps } from './end.ts';
import type { LiveSession } from './live.ts';
import { service, type SessionRecord } from './session.ts';
import { moveSession, sessionsOf } from './store.ts';
import { writeEnd } from './written.ts';

export interface RecoverDeps extends EndDeps {
  workerId: string;
  live: Map<string, LiveSession>;
}

/**
 * Sessions that the store calls alive and that nobody holds: those of workers
 * that are silent, and our own from before we died. Each is ended with
 * `worker_lost`, or with the reason that its end had already.
 */
export async function recoverSessions(deps: RecoverDeps): Promise<void> {
  const { store, log, live, workerId } = deps;
  const silent = await deps.fleet.silentWorkers();
  for (const record of await sessionsOf(store, [...new Set([workerId, ...silent])])) {
    if (live.has(record.sessionId)) continue;
    const moved = record.endedReason ? await moveSession(store, record.sessionId, { to: 'ended' }) : await writeLost(deps, record);
    if (moved) log.warn({ session: record.sessionId }, 'a session was ended whose worker is gone');
  }
}

/** What it has used is told as its worker has last written it. */
async function writeLost(deps: RecoverDeps, record: SessionRecord): Promise<boolean> {
  const { sessions: _, ...usage } = await deps.metering.written(record.sessionId);
  const end = { reason: 'worker_lost', actor: service } as const;
  return writeEnd(deps, record, { to: 'ended', end, at: deps.clock.now(), lastSeen: { ...record.lastSeen, usage } });
}
