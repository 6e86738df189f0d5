import { ServiceError, type EndedReason } from '@berth/contract';
import { isOver, type SessionRecord } from './session.ts';

export const sessionNotFound = (): ServiceError =>
  new ServiceError('session_not_found', 'No such session. It may have been deleted after its retention period.');

/** Why a session ended, as the end of a sentence. */
const reasonTexts: Readonly<Record<EndedReason, string>> = {
  requested: 'its owner ended it',
  idle_timeout: 'it was idle for its `idle_timeout_seconds`',
  max_lifetime: 'it reached its `timeout_seconds`',
  admin: 'the operator ended it',
  plan_limit: 'a monthly limit of the plan was reached',
  credits_exhausted: 'the wallet has no credits left',
  start_failed: 'its browser could not be started',
  browser_crashed: 'its browser crashed',
  browser_unresponsive: 'its browser stopped responding, as when a page has many hundreds of frames of other sites',
  vm_lost: 'its machine was lost',
  worker_lost: 'its worker was lost',
  out_of_memory: 'its browser needed more memory than a session may use',
  cdp_closed: 'its last DevTools client disconnected, and it was created without `keep_alive`',
  drained: 'its worker was drained',
};

export function sessionEndedError({ endedReason, status }: SessionRecord): ServiceError {
  const why = endedReason === null ? '' : `: ${reasonTexts[endedReason]}`;
  return new ServiceError('session_ended', `The session has ended${why}. Create a new session.`, {
    details: { ended_reason: endedReason, status },
  });
}

/** @throws ServiceError worker_unreachable for a live session of another worker */
export function assertReachable({ workerId, status }: SessionRecord, ownWorkerId: string): void {
  if (workerId === ownWorkerId || isOver(status)) return;
  throw new ServiceError(
    'worker_unreachable',
    'The session runs on another worker, which this one cannot reach. Try again in a moment, or send the request to it.',
    {
      details: { worker_id: workerId },
    },
  );
}

/** The browser is gone while a call used it. */
export const sessionLost = (endedReason: EndedReason | null, cause?: unknown): ServiceError =>
  new ServiceError('session_lost', 'The session’s browser was lost during the call. Create a new session.', {
    cause,
    details: { ended_reason: endedReason },
  });
