import { ServiceError, type EndedReason } from '@berth/contract';
import { isOver, type SessionRecord } from './session.ts';

export const sessionNotFound = (): ServiceError =>
  new ServiceError('session_not_found', 'No such session. It may have been deleted after its retention period.');

export const sessionEndedError = (record: SessionRecord): ServiceError =>
  new ServiceError('session_ended', 'The session has ended; `details` has the reason. Create a new session.', {
    details: { ended_reason: record.endedReason, status: record.status },
  });

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
