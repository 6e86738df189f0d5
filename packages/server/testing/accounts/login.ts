/** A scriptable identity provider and its tokens. */
import { createServer } from 'node:http';
import type { TestContext } from 'node:test';
import { ServiceError } from '@berth/contract';
import { SignJWT, exportJWK, generateKeyPair, type CryptoKey, type JWK, type JWTPayload } from 'jose';
import type { Credentials, Principal } from '../../src/accounts/principals/principals.ts';
import { ManualClock, type Clock } from '@berth/lib/clock.ts';
import { silentLog } from '@berth/lib/log.ts';
import { loadTiers, type Tier } from '../../src/accounts/owners/owners.ts';
import { Logins, loginAlgorithms, type LocalLogin, type LoginConfig } from '../../src/accounts/login/login.ts';

export interface SigningKey {
  kid: string;
  alg: string;
  privateKey: CryptoKey;
  publicJwk: JWK;
}

export async function newKey(kid: string, alg = 'RS256'): Promise<SigningKey> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  return { kid, alg, privateKey, publicJwk: { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' } };
}

interface Answer {
  status?: number;
  headers?: Record<string, string>;
  body: string;
}

/** An identity provider on loopback with configurable responses. */
export class Provider {
  issuer = '';
  /** Number of requests for the keys and for the discovery document. */
  keyRequests = 0;
  discoveryRequests = 0;
  keys: readonly JWK[] = [];
  /** Replaces the response with the keys. */
  answer: Answer | null = null;
  /** Replaces the discovery document. */
  discovery: Record<string, unknown> | null = null;

  static async start(t: TestContext, ...keys: SigningKey[]): Promise<Provider> {
    const provider = new Provider();
    provider.publish(...keys);
    const server = createServer((request, response) => {
      const { status = 200, headers, body } = provider.#answerTo(request.url ?? '');
      response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    provider.issuer = `http://127.0.0.1:${(server.address() as { port: number }).port}`;
    t.after(() => {
      server.close();
      server.closeAllConnections();
    });
    return provider;
  }

  publish(...keys: SigningKey[]): void {
    this.keys = keys.map(({ publicJwk }) => publicJwk);
  }

  #answerTo(path: string): Answer {
    if (path === '/.well-known/openid-configuration') {
      this.discoveryRequests += 1;
      return { body: JSON.stringify(this.discovery ?? { issuer: this.issuer, jwks_uri: `${this.issuer}/keys` }) };
    }
    this.keyRequests += 1;
    return (path === '/keys' ? this.answer : null) ?? { body: JSON.stringify({ keys: this.keys }) };
  }
}

export const audience = 'berth';

export const configFor = (provider: Provider, changes: Partial<LoginConfig> = {}): LoginConfig => ({
  issuer: provider.issuer,
  audience,
  jwksUrl: `${provider.issuer}/keys`,
  orgClaim: 'org_id',
  algorithms: loginAlgorithms,
  ...changes,
});

const free = loadTiers(null, { billing: true }).get('free') as Tier;

export interface TestLogins {
  logins: Logins;
  clock: ManualClock;
  /** Runs the guard. */
  authenticate(token: string): Promise<Principal>;
}

export const noCredentials: Credentials = { authorization: undefined, adminKey: undefined, token: undefined, viewCookies: [], params: {} };

/** Logins with a manual clock. */
export function openLogins(config: LoginConfig | LocalLogin | null, { clock = new ManualClock() }: { clock?: Clock } = {}): TestLogins {
  const logins = new Logins({ config, owners: { tierOf: () => Promise.resolve(free) }, clock, log: silentLog });
  return {
    logins,
    clock: clock as ManualClock,
    authenticate: (token) => logins.authenticate({ ...noCredentials, authorization: `Bearer ${token}` }),
  };
}

/** The clock's time in seconds, as in tokens. */
export const secondsOf = (clock: Clock): number => Math.floor(clock.now().getTime() / 1000);

/** Claims of a valid token at the clock's time. */
export const goodClaims = (issuer: string, clock: Clock): JWTPayload => ({
  iss: issuer,
  aud: audience,
  sub: 'user-1',
  org_id: 'acme',
  iat: secondsOf(clock),
  exp: secondsOf(clock) + 600,
});

export const sign = (claims: JWTPayload, key: SigningKey, header: Record<string, unknown> = {}): Promise<string> =>
  new SignJWT(claims).setProtectedHeader({ alg: key.alg, kid: key.kid, typ: 'at+jwt', ...header }).sign(key.privateKey);

/** A token of arbitrary parts. */
export const compose = (header: object, claims: object | string, signature = 'AAAA'): string => {
  const parts = [header, claims].map((part) => (typeof part === 'string' ? part : JSON.stringify(part)));
  return [...parts.map((part) => Buffer.from(part).toString('base64url')), signature].join('.');
};

/** The error of a rejected token. */
export async function refusalOf(entering: Promise<unknown>): Promise<ServiceError> {
  try {
    await entering;
  } catch (error) {
    if (error instanceof ServiceError) return error;
    throw error;
  }
  throw new Error('the token was accepted');
}
