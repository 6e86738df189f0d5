/** A meter and its tickets that only note what is done with them. */
import { ServiceError, type ErrorCode } from '@berth/contract';
import type { Metering, Meter, Ticket } from '../metering/metering.ts';
import type { LiveSession, Sessions } from '../sessions/sessions.ts';

type Admission = Parameters<Metering['admit']>[1];

export class Booked {
  readonly admitted: Admission[] = [];
  /** Of each ticket: how much it was charged with, or that it was dropped; the first counts. */
  readonly ends: (number | 'dropped')[] = [];
  /** What the next that asks is refused with. */
  refusal: ErrorCode | null = null;

  readonly metering: Pick<Metering, 'admit'> = {
    admit: (_owner, admission) => {
      if (this.refusal) return Promise.reject(new ServiceError(this.refusal, 'Nothing is left.'));
      this.admitted.push(admission);
      return Promise.resolve(this.#ticket());
    },
  };

  readonly sessions: Pick<Sessions, 'charge'> = {
    charge: (session, ticket, count) => ticket.charge(session.meter, count),
  };

  #ticket(): Ticket {
    let isOver = false;
    const end = (how: number | 'dropped'): Promise<void> => {
      if (!isOver) this.ends.push(how === 0 ? 'dropped' : how);
      isOver = true;
      return Promise.resolve();
    };
    return { charge: (_meter: Meter, count = 1) => end(count), drop: () => end('dropped') };
  }
}

/** As much of a session as is looked at by what it is charged for. */
export function bookedSession(): { session: LiveSession; told: [type: string, data: Record<string, unknown>][] } {
  const told: [string, Record<string, unknown>][] = [];
  const events = { tell: (type: string, data: Record<string, unknown>) => void told.push([type, data]) };
  return { session: { record: { owner: 'anna' }, meter: null, captcha: null, events } as unknown as LiveSession, told };
}
