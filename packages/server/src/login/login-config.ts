import type { JSONWebKeySet } from 'jose';

/** All that a login token may be signed with: nothing without a signature, and nothing with a secret that two sides share. */
export const loginAlgorithms: readonly string[] = ['RS256', 'PS256', 'ES256', 'EdDSA'];

interface TokenRules {
  /** What `aud` must name. */
  audience: string;
  /** The claim that holds the organisation, by its exact name. */
  orgClaim: string;
  /** Of {@link loginAlgorithms}. */
  algorithms: readonly string[];
}

/** An identity provider somewhere on the network. */
export interface LoginConfig extends TokenRules {
  /** What `iss` must be, and where its discovery document is looked for. */
  issuer: string;
  /** Where its keys are; null: where its discovery document says. */
  jwksUrl: string | null;
}

/** An issuer within this process: its keys are at hand, so nothing is fetched. */
export interface LocalLogin extends TokenRules {
  isIssuer(issuer: string): boolean;
  keys: JSONWebKeySet;
}
