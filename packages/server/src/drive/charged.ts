/** What one call costs: admitted when its turn has come, charged when it went well, and nothing otherwise. */
import type { Metering, Ticket } from '../metering/metering.ts';
import type { LiveSession, Sessions } from '../sessions/sessions.ts';

export interface ChargeParts {
  metering: Pick<Metering, 'admit'>;
  sessions: Pick<Sessions, 'charge'>;
  session: LiveSession;
}

export interface Cost<T> {
  /** As many actions as can be told beforehand. */
  count: number;
  /** As many as it came to. */
  countOf: (result: T) => number;
}

export const oneAction: Cost<unknown> = { count: 1, countOf: () => 1 };

/**
 * `work` calls `admit` before it does anything, which throws
 * plan_limit_exceeded and insufficient_credits.
 */
export async function charged<T>(
  { metering, sessions, session }: ChargeParts,
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
    // Nothing happens where it was charged before.
    await ticket?.drop();
    throw error;
  }
}
