/** What a session is doing, in words, and what is done to it. */
import type { SessionResponse } from '@berth/contract';
import { Badge, type Tone } from '../../ui/badge.tsx';
import { wordsOf } from '../../ui/values/texts.ts';
import { reasonLabel } from './reasons.ts';

const tones: Record<SessionResponse['status'], Tone> = { starting: 'warn', ready: 'good', ending: 'warn', ended: 'neutral', failed: 'bad' };

/** Whether it has a browser, or will have one. */
export const isLive = ({ status }: Pick<SessionResponse, 'status'>): boolean => status === 'starting' || status === 'ready';

export const nameOf = ({ name, session_id: id }: Pick<SessionResponse, 'name' | 'session_id'>): string => name ?? id;

/** What keeps the browser apart from the host and from others. */
export const isolationText = (isolation: SessionResponse['isolation']): string =>
  isolation === 'microvm' ? 'Virtual machine' : 'Process jail';

export const SessionBadge = ({
  session: { status, ended_reason: reason },
}: {
  session: Pick<SessionResponse, 'status' | 'ended_reason'>;
}) =>
  reason === null ? (
    <Badge tone={tones[status]}>{wordsOf(status)}</Badge>
  ) : (
    <Badge tone={reason === 'requested' ? 'neutral' : tones[status]}>
      {status === 'ended' && reason === 'requested' ? 'Ended' : reasonLabel(reason)}
    </Badge>
  );
