/** Sign-in by tokens of an identity provider, each for one organisation. */
import { ServiceError } from '@berth/contract';
import { createLocalJWKSet } from 'jose';
import { bearerOf, type Credentials, type Principal } from '../principals/principals.ts';
import type { Clock } from '@berth/lib/clock.ts';
import type { Log } from '@berth/lib/log.ts';
import type { Owners } from '../owners/owners.ts';
import { loginAlgorithms, verifyLogin, type LocalLogin, type LoginConfig, type TokenCheck } from './login-token.ts';
import { RemoteKeys } from './remote-keys.ts';

export { createDevIssuer, type DevIssuer } from './dev-issuer.ts';
export { mountDevIdp } from './dev-routes.ts';
export { loginAlgorithms, type LocalLogin, type LoginConfig } from './login-token.ts';
export { isLoopbackHost } from './loopback.ts';

interface LoginsDeps {
  /** null: sign-in is off. */
  config: LoginConfig | LocalLogin | null;
  owners: Pick<Owners, 'tierOf'>;
  clock: Clock;
  log: Log;
}

export class Logins {
  readonly #check: TokenCheck | null;
  readonly #owners: Pick<Owners, 'tierOf'>;
  readonly #clock: Clock;

  /** @throws TypeError for an algorithm that is not allowed */
  constructor({ config, owners, clock, log }: LoginsDeps) {
    this.#check = config && toCheck(config, { clock, log });
    this.#owners = owners;
    this.#clock = clock;
  }

  /** The guard of endpoints with auth `login`. @throws ServiceError invalid_login_token, login_unavailable */
  readonly authenticate = async (credentials: Credentials): Promise<Principal> => {
    const token = bearerOf(credentials);
    if (!token)
      throw new ServiceError('missing_login_token', 'Send the login token of your identity provider as `Authorization: Bearer TOKEN`.');
    if (!this.#check) throw notConfigured();
    const { org, subject } = await verifyLogin(token, this.#check, this.#clock.now());
    const tier = await this.#owners.tierOf(org);
    return { owner: org, keyId: null, subject, requestsPerMinute: tier.key_calls_per_minute, scope: `login:${org}` };
  };
}

function toCheck(config: LoginConfig | LocalLogin, { clock, log }: Pick<LoginsDeps, 'clock' | 'log'>): TokenCheck {
  const { audience, orgClaim, algorithms } = config;
  const refused = algorithms.find((algorithm) => !loginAlgorithms.includes(algorithm));
  if (refused !== undefined || algorithms.length === 0)
    throw new TypeError(`login tokens must be signed with ${loginAlgorithms.join(', ')}, not with ${refused ?? 'nothing'}`);
  const rules = { audience, orgClaim, algorithms };
  if ('keys' in config) return { ...rules, isIssuer: config.isIssuer, findKey: createLocalJWKSet(config.keys) };
  return { ...rules, isIssuer: (issuer) => issuer === config.issuer, findKey: new RemoteKeys({ config, clock, log }).find };
}

const notConfigured = (): ServiceError =>
  new ServiceError(
    'invalid_login_token',
    'Sign-in is not configured on this service. Set BERTH_OIDC_ISSUER, or BERTH_DEV_IDP=1 for local development.',
  );
