/** Charges for one call: admitted when it starts, charged on success, free on failure. */
import type { Metering, Ticket } from '../metering/metering.ts';
import type { LiveSession, Sessions } from '../sessions/sessions.ts';

export interface ChargeDeps {
  metering: Pick<Metering, 'admit'>;
  sessions: Pick<Sessions, 'charge'>;
  session: LiveSession;
}

export interface Cost<T> {
  /** Actions held before the call. */
  count: number;
  /** Actions charged for a result. */
  countOf: (result: T) => number;
}

export const oneAction: Cost<unknown> = { count: 1, countOf: () => 1 };

/**
 * `work` calls `admit` before it does anything.
 * @throws ServiceError plan_limit_exceeded, insufficient_credits, and what `work` throws
 */
export async function chargeCall<T>(
  { metering, sessions, session }: ChargeDeps,
  cost: Cost<T>,
  work: (admit: () => Promise<void>) => Promise<T>,
): Promise<T> {
  let ticket: Ticket | undefined;
  const admit = async (): Promise<void> => {
    ticket = await metering.admit(session.record.owner, { axis: 'action', count: cost.count });
  };
  try {
    const result = await work(admit);
    if (ticket) await sessions.charge(session, ticket, cost.countOf(result));
    return result;
  } catch (error) {
    // No effect after a charge.
    await ticket?.drop();
    throw error;
  }
}
