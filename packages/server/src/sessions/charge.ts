/** What a session costs: its start, and what is done in it. */
import type { Log } from '../lib/log.ts';
import type { Metering, Ticket } from '../metering/metering.ts';
import type { Store } from '../store/store.ts';
import type { LiveSession } from './live.ts';
import { isOver } from './session.ts';
import type { Order } from './start.ts';
import { writeUsage } from './store.ts';

/** Longer than any start: a boot that waits for its turn, the boot, and what the caller has put into it. */
const startMsMax = 300_000;

/** Throws plan_limit_exceeded and insufficient_credits. */
export async function admitStart({ metering }: { metering: Metering }, { record, request }: Omit<Order, 'ticket'>): Promise<Ticket> {
  const { owner, sessionId } = record;
  // Nobody is promised solves who has none left.
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
    log.warn({ error, session: sessionId }, 'what an ended session has used last could not be written down'),
  );
}
