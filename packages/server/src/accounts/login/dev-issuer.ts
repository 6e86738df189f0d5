/**
 * An identity provider for local development: it signs in anyone without a
 * password. It is as safe as the host itself, because it is served on loopback
 * addresses only.
 */
import { createPrivateKey, createPublicKey, generateKeyPairSync, hash, randomBytes, type KeyObject } from 'node:crypto';
import { SignJWT, type JSONWebKeySet, type JWK } from 'jose';
import { LRUCache } from 'lru-cache';
import { expiringBy, type Clock } from '@berth/lib/clock.ts';
import { readOrCreateSecret } from '@berth/lib/secrets/secret-file.ts';
import type { LocalLogin } from './login-token.ts';
import { isLoopbackUrl } from './loopback.ts';

const algorithm = 'EdDSA';
const orgClaim = 'org_id';
export const devIdpPath = '/dev-idp';
export const tokenSeconds = 3600;
/** Lifetime of an authorization code. */
const codeMs = 60_000;
/** More than people can sign in within a minute; beyond it the oldest are dropped. */
const codesMax = 1000;

/** Who signed in, unverified. */
export interface Person {
  email: string;
  organisation: string;
}

interface Grant {
  person: Person;
  clientId: string;
  redirectUri: string;
  /** SHA-256 of the client's code verifier, in base64url (RFC 7636). */
  codeChallenge: string;
}

/** What a client sends to exchange a code. */
export interface CodeExchange {
  code: string;
  clientId: string;
  redirectUri: string;
  codeVerifier: string;
}

interface DevIssuerOptions {
  /** File of the signing key, so that tokens survive a restart. */
  secretFile: string;
  clock: Clock;
  /** `aud` claim of the tokens. */
  audience: string;
}

export interface DevToken {
  token: string;
  expiresAt: Date;
}

export type DevIssuer = LocalIssuer;

/** @throws Error when the file does not hold a valid key */
export function createDevIssuer({ secretFile, clock, audience }: DevIssuerOptions): DevIssuer {
  const { secret } = readOrCreateSecret(secretFile, newSigningKey);
  try {
    return new LocalIssuer(createPrivateKey({ key: JSON.parse(secret) as JWK, format: 'jwk' }), { clock, audience });
  } catch (cause) {
    throw new Error(`the signing key of the development sign-in in ${secretFile} is invalid. Delete the file to generate a new one.`, {
      cause,
    });
  }
}

const newSigningKey = (): string => JSON.stringify(generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' }));

class LocalIssuer {
  /** Configures the verification of its tokens. */
  readonly login: LocalLogin;
  readonly keys: JSONWebKeySet;
  readonly #privateKey: KeyObject;
  readonly #keyId: string;
  readonly #clock: Clock;
  readonly #audience: string;
  /** Grants by authorization code. */
  readonly #grants: LRUCache<string, Grant>;

  constructor(privateKey: KeyObject, { clock, audience }: Omit<DevIssuerOptions, 'secretFile'>) {
    const { kty = '', crv = '', x = '' } = createPublicKey(privateKey).export({ format: 'jwk' });
    if (crv !== 'Ed25519') throw new Error(`expected an Ed25519 key, got ${crv || kty}`);
    this.#privateKey = privateKey;
    // The thumbprint of RFC 7638: these members, in this order.
    this.#keyId = hash('sha256', JSON.stringify({ crv, kty, x }), 'base64url');
    this.#clock = clock;
    this.#audience = audience;
    this.#grants = new LRUCache({ max: codesMax, ttl: codeMs, ...expiringBy(clock) });
    this.keys = { keys: [{ kty, crv, x, kid: this.#keyId, alg: algorithm, use: 'sig' }] };
    this.login = { audience, orgClaim, algorithms: [algorithm], keys: this.keys, isIssuer: isOwnIssuer };
  }

  /** Issues a login token. `origin` is that of the request. */
  async issue({ email, organisation }: Person, origin: string): Promise<DevToken> {
    const seconds = Math.floor(this.#clock.now().getTime() / 1000);
    const expires = seconds + tokenSeconds;
    const token = await new SignJWT({ email, [orgClaim]: organisation })
      .setProtectedHeader({ alg: algorithm, kid: this.#keyId, typ: 'at+jwt' })
      .setIssuer(issuerAt(origin))
      .setAudience(this.#audience)
      .setSubject(email)
      .setIssuedAt(seconds)
      .setExpirationTime(expires)
      .sign(this.#privateKey);
    return { token, expiresAt: new Date(expires * 1000) };
  }

  /** Issues a code for a validated redirect URI. */
  grantCode(grant: Grant): string {
    const code = randomBytes(32).toString('base64url');
    this.#grants.set(code, grant);
    return code;
  }

  /** null for a code that is unknown, used, expired or another client's. The code is consumed in any case. */
  async exchange({ code, clientId, redirectUri, codeVerifier }: CodeExchange, origin: string): Promise<DevToken | null> {
    const grant = this.#grants.get(code);
    this.#grants.delete(code);
    const isCaller =
      grant?.clientId === clientId &&
      grant.redirectUri === redirectUri &&
      grant.codeChallenge === hash('sha256', codeVerifier, 'base64url');
    return grant && isCaller ? this.issue(grant.person, origin) : null;
  }

  /** The OpenID Connect discovery document. */
  discovery(origin: string): Record<string, unknown> {
    const issuer = issuerAt(origin);
    return {
      issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
      jwks_uri: `${issuer}/jwks`,
      response_types_supported: ['code'],
      response_modes_supported: ['query'],
      grant_types_supported: ['authorization_code'],
      code_challenge_methods_supported: ['S256'],
      token_endpoint_auth_methods_supported: ['none'],
      authorization_response_iss_parameter_supported: true,
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: [algorithm],
      claims_supported: ['iss', 'aud', 'sub', 'iat', 'exp', 'email', orgClaim],
    };
  }
}

export const issuerAt = (origin: string): string => `${origin}${devIdpPath}`;

/**
 * Whether `iss` is this issuer under any loopback name and port: the port changes
 * with BERTH_PORT=0, and people use both `localhost` and `127.0.0.1`. This is
 * safe, because the only key never leaves the data directory: whatever it has
 * signed was issued here.
 */
const isOwnIssuer = (issuer: string): boolean => isLoopbackUrl(issuer) && issuer === issuerAt(new URL(issuer).origin);
