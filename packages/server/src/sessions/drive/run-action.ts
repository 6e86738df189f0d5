/** Runs one call of the API on a session's browser. */
import { ServiceError } from '@berth/contract';
import type { Clock } from '@berth/lib/clock.ts';
import type { Metering, Ticket } from '../../accounts/metering/metering.ts';
import type { LiveSession, Machine, Sessions } from '../sessions/sessions.ts';
import { withServiceErrors } from './errors.ts';

export interface Target {
  owner: string;
  sessionId: string;
  signal: AbortSignal;
  /** Set for actions of a person in the live view, which are not charged. */
  isFree?: boolean;
}

export interface Cost<T> {
  /** Actions held before the call. */
  count: number;
  /** Actions charged for a result. */
  countOf: (result: T) => number;
}

/** A call, as named in `action` events. */
export interface Action<W, T = W> {
  name:
    | 'navigate'
    | 'open_tab'
    | 'close_tab'
    | 'rotate_ip'
    | 'actions'
    | 'computer'
    | 'screenshot'
    | 'pdf'
    | 'content'
    | 'snapshot'
    | 'storage_state'
    | 'open_download'
    | 'upload';
  url?: string | undefined;
  /** Default: one action. null: the call is free. A function is called when the call's turn has come. */
  cost?: Cost<T> | null | ((machine: Machine) => Cost<T> | null);
  /** Whether the call waits for its turn in the session's queue. Default: true. */
  isQueued?: boolean;
  /** Makes the result of the work, outside the queue and before the charge. */
  finish?: (result: W) => Promise<T>;
}

export type Work<W> = (machine: Machine, signal: AbortSignal, session: LiveSession) => Promise<W>;

export interface RunDeps {
  sessions: Pick<Sessions, 'withBrowser' | 'ready' | 'charge'>;
  metering: Pick<Metering, 'admit'>;
  clock: Clock;
}

const oneAction: Cost<unknown> = { count: 1, countOf: () => 1 };

/**
 * Waits for the call's turn, admits its cost, does the work, emits an `action`
 * event and charges for the result. A call that fails is free.
 * @throws ServiceError session_busy, plan_limit_exceeded, insufficient_credits, and the work's errors as those of the API
 */
export async function runAction<W, T = W>(deps: RunDeps, target: Target, action: Action<W, T>, work: Work<W>): Promise<T> {
  const { owner, sessionId, signal, isFree = false } = target;
  const { cost: given = oneAction, isQueued = true, finish = (result) => Promise.resolve(result as unknown as T) } = action;
  let cost = null as Cost<T> | null;
  let ticket = null as Ticket | null;
  const start: Work<{ session: LiveSession; result: W }> = async (machine, sessionSignal, session) => {
    cost = typeof given === 'function' ? given(machine) : given;
    // When its turn has come, so that errors of the session take precedence over those of billing.
    if (cost && !isFree) ticket = await deps.metering.admit(owner, { axis: 'action', count: cost.count });
    const emit = startReport(session, deps.clock, { ...action, isViewers: isFree });
    try {
      const result = await withServiceErrors(() => work(machine, sessionSignal, session));
      emit({ status: 'ok' });
      return { session, result };
    } catch (error) {
      emit({ status: 'error', ...(error instanceof ServiceError ? { error_code: error.code } : {}) });
      throw error;
    }
  };
  const startUnqueued = async (): ReturnType<typeof start> => {
    const { machine, session } = await deps.sessions.ready(owner, sessionId, { signal });
    session.touch();
    return start(machine, signal, session);
  };
  try {
    const { session, result } = await (isQueued ? deps.sessions.withBrowser(owner, sessionId, { signal }, start) : startUnqueued());
    const finished = await withServiceErrors(() => finish(result));
    if (cost && ticket) await deps.sessions.charge(session, ticket, cost.countOf(finished));
    return finished;
  } catch (error) {
    // No effect after a charge.
    await ticket?.drop();
    throw error;
  }
}

/** The event holds neither arguments nor results, which may be secret. */
function startReport(
  session: LiveSession,
  clock: Clock,
  { name, url, isViewers }: Pick<Action<never>, 'name' | 'url'> & { isViewers: boolean },
) {
  const startMs = clock.monotonicMs();
  return (outcome: { status: 'ok' | 'error'; error_code?: string }): void => {
    // `session.ended` is the last event of a session.
    if (session.abort.signal.aborted) return;
    const durationMs = Math.round(clock.monotonicMs() - startMs);
    const details = { ...(url === undefined ? {} : { url }), ...(isViewers ? { by: 'viewer' } : {}) };
    session.events.emit('action', { name, ...outcome, duration_ms: durationMs, ...details });
  };
}
