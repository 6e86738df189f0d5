/** What a session is doing, in words, and what is done to it. */
import type { SessionResponse } from '@berth/contract';
import { Badge, type Tone } from '../../ui/badge.tsx';
import { wordsOf } from '../../ui/texts.ts';

const tones: Record<SessionResponse['status'], Tone> = { starting: 'warn', ready: 'good', ending: 'warn', ended: 'neutral', failed: 'bad' };

/** Whether it has a browser, or will have one. */
export const isLive = ({ status }: Pick<SessionResponse, 'status'>): boolean => status === 'starting' || status === 'ready';

export const nameOf = ({ name, session_id: id }: Pick<SessionResponse, 'name' | 'session_id'>): string => name ?? id;

export const SessionBadge = ({ session }: { session: Pick<SessionResponse, 'status' | 'ended_reason'> }) => (
  <Badge tone={tones[session.status]}>
    {wordsOf(session.status)}
    {session.ended_reason && session.ended_reason !== 'requested' ? `: ${wordsOf(session.ended_reason).toLowerCase()}` : ''}
  </Badge>
);
