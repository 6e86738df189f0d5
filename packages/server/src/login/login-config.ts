import type { JSONWebKeySet } from 'jose';

/** Signature algorithms of login tokens: asymmetric ones only, never `none`. */
export const loginAlgorithms: readonly string[] = ['RS256', 'PS256', 'ES256', 'EdDSA'];

interface TokenRules {
  /** Required in `aud`. */
  audience: string;
  /** Name of the claim with the organisation. */
  orgClaim: string;
  /** Of {@link loginAlgorithms}. */
  algorithms: readonly string[];
}

/** A remote identity provider. */
export interface LoginConfig extends TokenRules {
  /** Required in `iss`; base URL of the discovery document. */
  issuer: string;
  /** null: `jwks_uri` of the discovery document. */
  jwksUrl: string | null;
}

/** An issuer in this process, whose keys need not be fetched. */
export interface LocalLogin extends TokenRules {
  isIssuer(issuer: string): boolean;
  keys: JSONWebKeySet;
}
