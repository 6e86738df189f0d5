import type { EndDeps } from './end.ts';
import type { LiveSession } from './live.ts';
import { moveSession, sessionsOf } from './store.ts';

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
  const { store, clock, log, live, workerId } = deps;
  const silent = await deps.fleet.silentWorkers();
  for (const record of await sessionsOf(store, [...new Set([workerId, ...silent])])) {
    if (live.has(record.sessionId)) continue;
    const ended = record.endedReason ? {} : { ended: { reason: 'worker_lost' as const, at: clock.now() } };
    if (await moveSession(store, record.sessionId, { to: 'ended', ...ended }))
      log.warn({ session: record.sessionId }, 'a session was ended whose worker is gone');
  }
}
