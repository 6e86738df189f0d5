/** Charges for a session's start and for actions in it. */
import type { Log } from '../lib/log.ts';
import type { Metering, Ticket } from '../metering/metering.ts';
import type { Store } from '../store/store.ts';
import type { LiveSession } from './live.ts';
import { isOver } from './session.ts';
import type { SessionSpec } from './spec.ts';
import { writeUsage } from './store.ts';

/** Longer than any start: the wait in the boot queue, the boot, and restoring the storage state. */
const startMsMax = 300_000;

/** @throws ServiceError plan_limit_exceeded, insufficient_credits */
export async function admitStart({ metering }: { metering: Metering }, { record, request }: Omit<SessionSpec, 'ticket'>): Promise<Ticket> {
  const { owner, sessionId } = record;
  // A session that is to solve captchas needs at least one solve left.
  if (request.captcha.mode === 'solve') await (await metering.admit(owner, { axis: 'captcha' })).drop();
  return metering.admit(owner, { axis: 'session', opId: `session:${sessionId}:start`, ttlMs: startMsMax });
}

export async function charge(
  { store, log }: { store: Store; log: Log },
  session: LiveSession,
  { ticket, count }: { ticket: Ticket; count: number | undefined },
): Promise<void> {
  await ticket.charge(session.meter, count);
  await session.ending?.catch(() => undefined);
  if (!isOver(session.status)) return;
  const { sessionId, lastSeen } = session.record;
  const usage = session.usage();
  session.record = { ...session.record, lastSeen: { ...lastSeen, usage } };
  await writeUsage(store, sessionId, usage).catch((error: unknown) =>
    log.warn({ err: error, session: sessionId }, 'session usage write failed'),
  );
}
