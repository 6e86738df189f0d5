/** A fake of metering that records admissions and charges. */
import { ServiceError, type ErrorCode } from '@berth/contract';
import type { Metering, Meter, Ticket } from '../../src/accounts/metering/metering.ts';
import type { LiveSession, Sessions } from '../../src/sessions/sessions/sessions.ts';

type Admission = Parameters<Metering['admit']>[1];

export class FakeMetering {
  readonly admitted: Admission[] = [];
  /** The charged count of each ticket, or `dropped`. */
  readonly ends: (number | 'dropped')[] = [];
  /** The error of the next admission. */
  refusal: ErrorCode | null = null;

  readonly metering: Pick<Metering, 'admit'> = {
    admit: (_owner, admission) => {
      if (this.refusal) return Promise.reject(new ServiceError(this.refusal, 'Exhausted.'));
      this.admitted.push(admission);
      return Promise.resolve(this.#ticket());
    },
  };

  readonly sessions: Pick<Sessions, 'charge'> = {
    charge: (session, ticket, count) => ticket.charge(session.meter, count),
  };

  #ticket(): Ticket {
    let isOver = false;
    const end = (result: number | 'dropped'): Promise<void> => {
      if (!isOver) this.ends.push(result === 0 ? 'dropped' : result);
      isOver = true;
      return Promise.resolve();
    };
    return { charge: (_meter: Meter, count = 1) => end(count), drop: () => end('dropped') };
  }
}

/** The parts of a session that charging uses. */
export function fakeSession(): { session: LiveSession; emitted: [type: string, data: Record<string, unknown>][] } {
  const emitted: [string, Record<string, unknown>][] = [];
  const events = { emit: (type: string, data: Record<string, unknown>) => void emitted.push([type, data]) };
  return { session: { record: { owner: 'anna' }, meter: null, captcha: null, events } as unknown as LiveSession, emitted };
}
