/**
 * Addresses that find their browser again: who connects there, and with which options, says which browser it is.
 * The session's row says it to every worker, so that an address has one browser at a time.
 */
import { hash } from 'node:crypto';
import type { ConnectRequest } from '@berth/contract';
import type { Principal } from '../../../accounts/principals/principals.ts';

export interface Reconnect {
  /** Digest of the caller and the options: options may hold secrets, such as the password of a proxy. */
  address: string;
  /** How long the session waits for its clients after the last has disconnected. */
  seconds: number;
}

/** null where the session ends with its last connection, or outlives it in any case. */
export function reconnectOf({ keyId, connectTokenId, reconnectSeconds = 0 }: Principal, query: ConnectRequest): Reconnect | null {
  const { reconnect_seconds: seconds = reconnectSeconds, ...options } = query;
  if (seconds === 0 || options.keep_alive) return null;
  return { seconds, address: hash('sha256', JSON.stringify([connectTokenId ?? keyId, seconds, sorted(options)]), 'base64url') };
}

/** The same for options in another order. */
function sorted(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.entries(value)
    .map(([name, each]) => [name, sorted(each)] as const)
    .toSorted(([a], [b]) => (a < b ? -1 : 1));
}
