/** What a session is doing, in words, and what is done to it. */
import type { SessionResponse } from '@berth/contract';
import { Badge, type Tone } from '../../ui/badge.tsx';
import { durationText, wordsOf } from '../../ui/values/texts.ts';
import { TimeUntil } from '../../ui/values/time.tsx';
import { reasonLabel } from './reasons.ts';

const tones: Record<SessionResponse['status'], Tone> = { starting: 'warn', ready: 'good', ending: 'warn', ended: 'neutral', failed: 'bad' };

/** Those of sessions that have a browser, or will have one. */
export const liveStatuses = 'starting,ready';

/** Whether it has a browser, or will have one. */
export const isLive = ({ status }: Pick<SessionResponse, 'status'>): boolean => status === 'starting' || status === 'ready';

export const nameOf = ({ name, session_id: id }: Pick<SessionResponse, 'name' | 'session_id'>): string => name ?? id;

/** What keeps the browser apart from the host and from others. */
export const isolationText = (isolation: SessionResponse['isolation']): string =>
  isolation === 'microvm' ? 'Virtual machine' : 'Process jail';

type State = Pick<SessionResponse, 'status' | 'ended_reason'>;

/** `Ready`; of one that has ended why, such as `Ended on request`. */
export const statusText = ({ status, ended_reason: reason }: State): string =>
  reason === null || status === 'ending' ? wordsOf(status) : reasonLabel(reason);

export const SessionBadge = ({ session }: { session: State }) => (
  <Badge tone={session.ended_reason === 'requested' ? 'neutral' : tones[session.status]}>{statusText(session)}</Badge>
);

/** How long a running session has at most, and when it ends earlier. The API has no time of its last use. */
export const TimeLeft = ({ session: { expires_at: at, idle_timeout_seconds: seconds } }: { session: SessionResponse }) => (
  <>
    at most <TimeUntil at={at} /> left, ends when idle for {durationText(seconds * 1000)}
  </>
);
