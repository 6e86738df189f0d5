import type { LiveSession } from './live.ts';
import { closeReasonOf, isOver, statusAfter, type End, type SessionRecord } from './session.ts';
import type { StartDeps } from './start.ts';
import { moveSession } from './store.ts';
import { writeEnd } from './audited-writes.ts';

export interface EndDeps extends StartDeps {
  onEnded: (record: SessionRecord) => void;
}

/**
 * Ends a session. Resolves when the end is stored; the machine is released
 * right after, and `session.disposed` resolves then. Idempotent: all callers
 * share one end, and the first reason counts.
 */
export function endSession(deps: EndDeps, session: LiveSession, end: End): Promise<void> {
  session.ending ??= persistEnd(deps, session, end).catch((error: unknown) => {
    // The store is unavailable: the timers retry, and so may the caller.
    session.ending = null;
    session.pendingEnd = end;
    throw error;
  });
  return session.ending;
}

async function persistEnd(deps: EndDeps, session: LiveSession, end: End): Promise<void> {
  const { record } = session;
  const { reason } = end;
  session.stopUsage();
  const at = deps.clock.now();
  const lastSeen = session.snapshot();
  const lastActivityAt = session.lastActivityAt();
  const status = statusAfter(reason);
  const moved = await writeEnd(deps, record, { to: status, end, at, lastSeen, lastActivityAt });
  if (moved) session.record = { ...session.record, status, endedReason: reason, endedAt: at, lastSeen, lastActivityAt };
  session.pendingEnd = null;
  session.abort.abort(new Error(`the session ended: ${reason}`));
  session.events.emit('session.ended', { ended_reason: reason, status });
  for (const connection of session.connections) connection.close(closeReasonOf(reason));
  deps.onEnded(session.record);
  session.disposed = destroySession(deps, session);
}

async function destroySession(deps: EndDeps, session: LiveSession): Promise<void> {
  const { sessionId } = session.record;
  await session.started;
  if (session.machine) await deps.fleet.release(session.machine.id);
  try {
    if (session.status === 'ending' && (await moveSession(deps.store, sessionId, { to: 'ended' })))
      session.record = { ...session.record, status: 'ended' };
  } catch (error) {
    // Recovery at the next start of this worker finishes the row.
    deps.log.error({ err: error, session: sessionId }, 'session end write failed');
  }
  if (isOver(session.status)) deps.live.delete(sessionId);
  await session.meter.close();
}
