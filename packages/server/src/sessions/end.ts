import type { LiveSession } from './live.ts';
import { closeReasonOf, isOver, statusAfter, type End, type SessionRecord } from './session.ts';
import type { StartDeps } from './start.ts';
import { moveSession } from './store.ts';
import { writeEnd } from './written.ts';

export interface EndDeps extends StartDeps {
  ended: (record: SessionRecord) => void;
}

/**
 * Ends a session. Resolves when the end is written down; the machine goes
 * right after, and `session.gone` tells when. Idempotent: all who ask share
 * one end, and its first reason counts.
 */
export function endSession(deps: EndDeps, session: LiveSession, end: End): Promise<void> {
  session.ending ??= writeDown(deps, session, end).catch((error: unknown) => {
    // The store cannot be reached: the next turn of the timers tries again, and so may the caller.
    session.ending = null;
    session.overdue = end;
    throw error;
  });
  return session.ending;
}

async function writeDown(deps: EndDeps, session: LiveSession, end: End): Promise<void> {
  const { record } = session;
  const { reason } = end;
  session.stopUse();
  const at = deps.clock.now();
  const lastSeen = session.look();
  const lastActivityAt = session.lastActivityAt();
  const status = statusAfter(reason);
  const moved = await writeEnd(deps, record, { to: status, end, at, lastSeen, lastActivityAt });
  if (moved) session.record = { ...session.record, status, endedReason: reason, endedAt: at, lastSeen, lastActivityAt };
  session.overdue = null;
  session.abort.abort(new Error(`the session ended: ${reason}`));
  session.events.tell('session.ended', { ended_reason: reason, status });
  for (const connection of session.connections) connection.close(closeReasonOf(reason));
  deps.ended(session.record);
  session.gone = clearAway(deps, session);
}

async function clearAway(deps: EndDeps, session: LiveSession): Promise<void> {
  const { sessionId } = session.record;
  await session.started;
  if (session.machine) await deps.fleet.release(session.machine.id);
  try {
    if (session.status === 'ending' && (await moveSession(deps.store, sessionId, { to: 'ended' })))
      session.record = { ...session.record, status: 'ended' };
  } catch (error) {
    // The next start of this worker finds the row and finishes it.
    deps.log.error({ error, session: sessionId }, 'the end of a session could not be written down');
  }
  if (isOver(session.status)) deps.live.delete(sessionId);
  await session.meter.close();
}
