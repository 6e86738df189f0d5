/** Authorization codes of the development issuer: valid once, for a minute, in this process. */
import { hash, randomBytes } from 'node:crypto';
import type { Clock } from '../lib/clock.ts';

/** Who signed in, unverified. */
export interface Person {
  email: string;
  organisation: string;
}

export interface Grant {
  person: Person;
  clientId: string;
  redirectUri: string;
  /** SHA-256 of the client's code verifier, in base64url (RFC 7636). */
  codeChallenge: string;
}

const lifetimeMs = 60_000;
/** More than people can sign in within a minute; beyond it the oldest are dropped. */
const codesMax = 1000;

export class Codes {
  readonly #clock: Clock;
  /** Oldest first. */
  readonly #grants = new Map<string, { grant: Grant; untilMs: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  issue(grant: Grant): string {
    const [oldest] = this.#grants.keys();
    if (this.#grants.size >= codesMax && oldest !== undefined) this.#grants.delete(oldest);
    const code = randomBytes(32).toString('base64url');
    this.#grants.set(code, { grant, untilMs: this.#clock.monotonicMs() + lifetimeMs });
    return code;
  }

  /** The person of a code; null for one that is unknown, used, expired or another client's. The code is consumed in any case. */
  redeem(code: string, caller: { clientId: string; redirectUri: string; codeVerifier: string }): Person | null {
    const entry = this.#grants.get(code);
    this.#grants.delete(code);
    if (!entry || entry.untilMs <= this.#clock.monotonicMs()) return null;
    const { person, clientId, redirectUri, codeChallenge } = entry.grant;
    const isCaller =
      clientId === caller.clientId &&
      redirectUri === caller.redirectUri &&
      hash('sha256', caller.codeVerifier, 'base64url') === codeChallenge;
    return isCaller ? person : null;
  }
}
