/** Which links are still good. Looked up each time: nothing of it is remembered. */
import { ServiceError, type SessionStatus } from '@berth/contract';
import type { Keys } from '../keys/keys.ts';
import type { Sessions } from '../sessions/sessions.ts';
import type { Store } from '../store/store.ts';
import type { Link } from './grants.ts';
import { revocationsOf } from './store.ts';

/** `unauthorized`: the link was taken back, or its key was. `session_ended`: there is nothing left to be seen with it. */
export type Standing = 'good' | 'unauthorized' | 'session_ended';

export interface StandingDeps {
  keys: Pick<Keys, 'deadAmong'>;
  sessions: Pick<Sessions, 'get'>;
  store: Store;
  /** The newest recording of a session of this owner, null where there is none. Handed down, since recordings stand below. */
  recordingOf: (owner: string, sessionId: string) => Promise<string | null>;
}

export const isLive = (status: SessionStatus): boolean => status === 'starting' || status === 'ready';

/** What was recorded outlives the session; everything else is the session itself. */
export const needsSession = ({ scope }: Link): boolean => scope !== 'recording';

/** Asks the store twice, however many links there are, and once more for each recording. */
export async function standingOf(deps: StandingDeps, links: readonly Link[]): Promise<Map<Link, Standing>> {
  if (links.length === 0) return new Map();
  const keyIds = new Set(links.flatMap(({ keyId }) => keyId ?? []));
  const sessionIds = new Set(links.map(({ sessionId }) => sessionId));
  const [dead, revocations] = await Promise.all([deps.keys.deadAmong([...keyIds]), revocationsOf(deps.store, [...sessionIds])]);
  const isTakenBack = ({ keyId, sessionId, issuedAtMs }: Link): boolean =>
    (keyId !== null && dead.includes(keyId)) || issuedAtMs <= (revocations.get(sessionId)?.getTime() ?? 0);

  const looks = new Map<string, Promise<boolean>>();
  const hasSubject = (link: Link): Promise<boolean> => {
    const subject = `${link.owner} ${link.sessionId} ${needsSession(link)}`;
    const look = looks.get(subject) ?? lookAt(deps, link);
    looks.set(subject, look);
    return look;
  };
  const judge = async (link: Link): Promise<Standing> =>
    isTakenBack(link) ? 'unauthorized' : (await hasSubject(link)) ? 'good' : 'session_ended';
  return new Map(await Promise.all(links.map(async (link) => [link, await judge(link)] as const)));
}

async function lookAt({ sessions, recordingOf }: StandingDeps, link: Link): Promise<boolean> {
  if (!needsSession(link)) return (await recordingOf(link.owner, link.sessionId)) !== null;
  try {
    return isLive((await sessions.get(link.owner, link.sessionId)).record.status);
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'session_not_found') return false;
    throw error;
  }
}
