import type { Berth } from '../../berth.ts';
import { Connection } from '../../peers/connection.ts';
import type { Issuer } from '../../issuer.ts';
import { tier } from '../money/tier.ts';

/** An owner with a key of their own. */
export interface Owner {
  url: string;
  key: string;
}

/** Signs in with the bench's identity provider and creates an API key. */
export async function createOwner(berth: Berth, issuer: Issuer, name: string): Promise<Owner> {
  const keys = new Connection(berth.url, { authorization: `Bearer ${await issuer.token(name)}` });
  const { key } = await keys.requestJson<{ key: string }>('POST', '/v1/keys', {});
  keys.close();
  return { url: berth.url, key };
}

export const authorizationOf = ({ key }: Owner): { authorization: string } => ({ authorization: `Bearer ${key}` });

/** Everyone has the same plan: what keeps owners apart is the worker, and no limit of a plan but that of sessions. */
export const plan = { ...tier, concurrency_limit: 8, tab_limit: 10 };

/** Throws when the response is not a success. */
export async function call(owner: Owner, method: string, path: string, body?: object): Promise<unknown> {
  const response = await fetch(owner.url + path, {
    method,
    headers: { ...authorizationOf(owner), ...(body ? { 'content-type': 'application/json' } : {}) },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text.slice(0, 300)}`);
  return text === '' ? null : JSON.parse(text);
}

export interface Session {
  session_id: string;
  cdp_url: string;
}

/** Both longer than the bench runs: watching alone does not keep a session. */
const timers = { timeout_seconds: 3600, idle_timeout_seconds: 3600 };

export const createSession = async (owner: Owner, options: object = {}): Promise<Session> =>
  (await call(owner, 'POST', '/v1/session', { ...timers, ...options })) as Session;

export const endSession = async (owner: Owner, { session_id }: Session): Promise<unknown> =>
  call(owner, 'DELETE', `/v1/session/${session_id}`);
