/** Authorization codes of the development issuer: for one use within a minute, and in this process only. */
import { hash, randomBytes } from 'node:crypto';
import type { Clock } from '../lib/clock.ts';

/** Who signed in, in their own words. */
export interface Person {
  email: string;
  organisation: string;
}

export interface Grant {
  person: Person;
  clientId: string;
  redirectUri: string;
  /** Of the verifier that the one who asked has kept: SHA-256 in base64url. */
  codeChallenge: string;
}

const livesMs = 60_000;
/** More than people can sign in within a minute: the oldest make way. */
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
    this.#grants.set(code, { grant, untilMs: this.#clock.monotonicMs() + livesMs });
    return code;
  }

  /** What a code was issued for; null for one that is unknown, used, too old, or not this caller's. It is used up in any case. */
  redeem(code: string, caller: { clientId: string; redirectUri: string; codeVerifier: string }): Person | null {
    const found = this.#grants.get(code);
    this.#grants.delete(code);
    if (!found || found.untilMs <= this.#clock.monotonicMs()) return null;
    const { person, clientId, redirectUri, codeChallenge } = found.grant;
    const isCaller =
      clientId === caller.clientId &&
      redirectUri === caller.redirectUri &&
      hash('sha256', caller.codeVerifier, 'base64url') === codeChallenge;
    return isCaller ? person : null;
  }
}
