/** Checks which links are still valid. Nothing is cached: each check reads the store. */
import { ServiceError, type SessionStatus } from '@berth/contract';
import type { Keys } from '../keys/keys.ts';
import type { Sessions } from '../sessions/sessions.ts';
import type { Store } from '../store/store.ts';
import type { Link } from './grants.ts';
import { revocationsOf } from './store.ts';

/** `unauthorized`: the link or its API key was revoked. `session_ended`: the session or recording no longer exists. */
export type TokenValidity = 'valid' | 'unauthorized' | 'session_ended';

export interface TokenValidityDeps {
  keys: Pick<Keys, 'findInactive'>;
  sessions: Pick<Sessions, 'get'>;
  store: Store;
  /** Returns the id of the newest recording of a session of this owner, or null. Injected, since recordings depend on view. */
  recordingOf: (owner: string, sessionId: string) => Promise<string | null>;
}

export const isLive = (status: SessionStatus): boolean => status === 'starting' || status === 'ready';

/** A recording outlives its session; everything else needs the live session. */
export const needsSession = ({ scope }: Link): boolean => scope !== 'recording';

/** Makes two store queries for all links together, and one more for each session or recording. */
export async function checkValidity(deps: TokenValidityDeps, links: readonly Link[]): Promise<Map<Link, TokenValidity>> {
  if (links.length === 0) return new Map();
  const keyIds = new Set(links.flatMap(({ keyId }) => keyId ?? []));
  const sessionIds = new Set(links.map(({ sessionId }) => sessionId));
  const [revokedKeyIds, revocations] = await Promise.all([deps.keys.findInactive([...keyIds]), revocationsOf(deps.store, [...sessionIds])]);
  const isRevoked = ({ keyId, sessionId, issuedAtMs }: Link): boolean =>
    (keyId !== null && revokedKeyIds.includes(keyId)) || issuedAtMs <= (revocations.get(sessionId)?.getTime() ?? 0);

  const subjectChecks = new Map<string, Promise<boolean>>();
  const hasSubject = (link: Link): Promise<boolean> => {
    const subject = `${link.owner} ${link.sessionId} ${needsSession(link)}`;
    const check = subjectChecks.get(subject) ?? subjectExists(deps, link);
    subjectChecks.set(subject, check);
    return check;
  };
  const validityOf = async (link: Link): Promise<TokenValidity> =>
    isRevoked(link) ? 'unauthorized' : (await hasSubject(link)) ? 'valid' : 'session_ended';
  return new Map(await Promise.all(links.map(async (link) => [link, await validityOf(link)] as const)));
}

async function subjectExists({ sessions, recordingOf }: TokenValidityDeps, link: Link): Promise<boolean> {
  if (!needsSession(link)) return (await recordingOf(link.owner, link.sessionId)) !== null;
  try {
    return isLive((await sessions.get(link.owner, link.sessionId)).record.status);
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'session_not_found') return false;
    throw error;
  }
}
