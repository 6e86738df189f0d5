import { acceptsLinks, acceptsLinksAndKeys, ServiceError } from '@berth/contract';
import type { Endpoint } from '@berth/contract';
import type { IncomingMessage } from 'node:http';
import { RateLimiterRes, type RateLimiter, type Rates } from '../../rates/rates.ts';
import type { Credentials, Guards, Principal } from '../../accounts/principals/principals.ts';
import { credentialHint } from '../credential-hints.ts';
import type { HttpOptions } from '../options.ts';
import type { Exchange } from '../server/exchange.ts';
import { networkOf } from '../server/peer.ts';
import type { Peers } from '../server/peer.ts';
import type { RawRequest } from '../body/validate.ts';
import { viewCookieName, viewCookiesOf } from '../view-cookie.ts';

interface AdmissionDeps {
  rates: Rates;
  guards: Guards;
  peers: Peers;
  /** Missing or invalid credentials per client address and minute; null: unlimited. */
  authFailuresPerMinuteMax: number | null;
  /** Requests with the admin key or the metrics token per minute; null: unlimited. */
  adminRequestsPerMinuteMax: number | null;
  checkInner?: HttpOptions['checkInner'];
}

const windowSeconds = 60;

/**
 * Authenticates a request, then applies the caller's rate limit.
 *
 * Failures are counted by client address. A valid key still passes from an
 * address with too many failures, because several callers may share it.
 */
export class Admission {
  #options: AdmissionDeps;
  #failures: RateLimiter | null;

  constructor(options: AdmissionDeps) {
    this.#options = options;
    const { rates, authFailuresPerMinuteMax: failuresMax } = options;
    this.#failures = failuresMax === null ? null : rates.limiter('auth-failures', failuresMax);
  }

  /** @throws ServiceError of the missing or invalid credential, or rate_limited */
  async admit(endpoint: Endpoint, exchange: Exchange, raw: RawRequest): Promise<void> {
    if (endpoint.auth === 'none') {
      exchange.principal = await this.#options.guards.none(noCredentials);
      return;
    }
    const principal = exchange.inner
      ? await this.#checkInner(endpoint, exchange.inner.principal, raw)
      : await this.#authenticate(endpoint, exchange.request, raw);
    exchange.principal = principal;
    const isOperator = endpoint.auth === 'admin' || endpoint.auth === 'metrics';
    const perMinute = isOperator ? this.#options.adminRequestsPerMinuteMax : principal.requestsPerMinute;
    if (perMinute !== null) await this.#take(exchange, principal.scope, perMinute);
  }

  /** The caller was authenticated when it came in: what is left is what it may do. */
  async #checkInner(endpoint: Endpoint, principal: Principal, { params }: RawRequest): Promise<Principal> {
    if (endpoint.auth !== 'bearer') throw new Error(`the service does not call ${endpoint.id} for others`);
    await this.#options.checkInner?.(principal, endpoint, params);
    return principal;
  }

  async #authenticate(endpoint: Endpoint, request: IncomingMessage, raw: RawRequest): Promise<Principal> {
    try {
      return await this.#options.guards[endpoint.auth](this.#credentialsOf(endpoint, request, raw));
    } catch (error) {
      if (!(error instanceof ServiceError) || (error.status !== 401 && error.status !== 403)) throw error;
      await this.#countFailure(request);
      throw withHint(error, credentialHint(endpoint, request));
    }
  }

  /** The credentials of the request that the endpoint's guard needs. @throws ServiceError when they are missing */
  #credentialsOf(endpoint: Endpoint, request: IncomingMessage, raw: RawRequest): Credentials {
    if (endpoint.auth === 'metrics') return metricsCredentialOf(request);
    if (endpoint.auth === 'login') return loginTokenOf(request);
    if (endpoint.auth === 'admin') return { ...noCredentials, adminKey: adminKeyOf(request), params: raw.params };
    if (acceptsLinks(endpoint.auth)) return linkOf(endpoint, request, raw, viewCookieName(this.#options.peers.origin(request)));
    if (endpoint.auth === 'agent') return agentCredentialOf(request, raw);
    if (endpoint.auth === 'connectPath') return { ...noCredentials, token: raw.params['token'], params: raw.params };
    const token = endpoint.auth === 'connect' ? tokenOf(raw) : undefined;
    const { authorization } = request.headers;
    if (token !== undefined && authorization === undefined) return { ...noCredentials, token, params: raw.params };
    if (!isOneBearer(request)) throw hasAuthorization(request) ? malformedKey() : missingKey(endpoint);
    return { ...noCredentials, authorization, token, params: raw.params };
  }

  async #countFailure(request: IncomingMessage): Promise<void> {
    const state = await this.#failures?.penalty(networkOf(this.#options.peers.address(request)));
    if (state && state.consumedPoints > (this.#options.authFailuresPerMinuteMax ?? 0))
      throw rateLimited('Too many requests without a valid credential from your address.', state);
  }

  async #take(exchange: Exchange, scope: string, perMinute: number): Promise<void> {
    const limiter = this.#options.rates.limiter('requests', perMinute);
    try {
      setRateHeaders(exchange, perMinute, await limiter.consume(scope));
    } catch (state) {
      if (!(state instanceof RateLimiterRes)) throw state;
      setRateHeaders(exchange, perMinute, state);
      throw rateLimited(`The limit of requests per minute is ${perMinute}. Wait and try again.`, state);
    }
  }
}

const withHint = (error: ServiceError, hint: string | undefined): ServiceError =>
  hint === undefined ? error : new ServiceError(error.code, hint, { cause: error, details: error.details });

const missingKey = ({ auth }: Endpoint): ServiceError => {
  const orToken = auth === 'connect' ? ', or a connect token as `?token=`' : '';
  return new ServiceError('missing_api_key', `Send one API key as \`Authorization: Bearer KEY\`${orToken}.`);
};

const malformedKey = (): ServiceError =>
  new ServiceError('invalid_api_key', 'The Authorization header is malformed. Send one API key as `Authorization: Bearer KEY`.');

const noCredentials: Credentials = { authorization: undefined, adminKey: undefined, token: undefined, viewCookies: [], params: {} };

const rateLimited = (message: string, state: RateLimiterRes): ServiceError =>
  new ServiceError('rate_limited', `${message} Wait and try again.`, { retryAfterSeconds: state.msBeforeNext / 1000 });

function setRateHeaders(exchange: Exchange, perMinute: number, state: RateLimiterRes): void {
  const resetSeconds = String(Math.ceil(state.msBeforeNext / 1000));
  const remaining = String(Math.max(0, state.remainingPoints));
  exchange.rateHeaders = {
    'ratelimit-policy': `"default";q=${perMinute};w=${windowSeconds}`,
    ratelimit: `"default";r=${remaining};t=${resetSeconds}`,
    'x-ratelimit-limit': String(perMinute),
    'x-ratelimit-remaining': remaining,
    'x-ratelimit-reset': resetSeconds,
  };
}

/** The token in the link takes precedence over cookies of earlier links. Recordings and reports accept an API key, too. */
function linkOf({ auth }: Endpoint, request: IncomingMessage, raw: RawRequest, cookieName: string): Credentials {
  const token = tokenOf(raw);
  const viewCookies = viewCookiesOf(request.headers.cookie, cookieName);
  if (token !== undefined) return { ...noCredentials, token, viewCookies, params: raw.params };
  const acceptsKeys = acceptsLinksAndKeys(auth);
  const authorization = acceptsKeys && isOneBearer(request) ? request.headers.authorization : undefined;
  if (viewCookies.length === 0 && authorization === undefined) {
    if (acceptsKeys && hasAuthorization(request)) throw malformedKey();
    throw new ServiceError('missing_view_token', 'A view token is required. Create a link with `POST …/view-token` or `POST …/vnc-token`.');
  }
  return { ...noCredentials, authorization, viewCookies, params: raw.params };
}

const tokenOf = ({ query: { token } }: RawRequest): string | undefined => (typeof token === 'string' && token !== '' ? token : undefined);

function loginTokenOf(request: IncomingMessage): Credentials {
  if (!isOneBearer(request))
    throw new ServiceError(
      'missing_login_token',
      'Send the login token of your identity provider as `Authorization: Bearer TOKEN`. API keys are not accepted here.',
    );
  return { ...noCredentials, authorization: request.headers.authorization };
}

/** Hosts of agents that cannot set `Authorization` can set a header of another name. */
function agentCredentialOf(request: IncomingMessage, { params }: RawRequest): Credentials {
  const { authorization, 'x-api-key': key } = request.headers;
  if (authorization === undefined && typeof key === 'string' && /^\S+$/.test(key))
    return { ...noCredentials, authorization: `Bearer ${key}`, params };
  if (isOneBearer(request)) return { ...noCredentials, authorization, params };
  if (hasAuthorization(request) || (key !== undefined && key !== '')) throw malformedKey();
  throw new ServiceError('missing_api_key', 'Send one API key as `Authorization: Bearer KEY` or `X-API-Key: KEY`.');
}

/** The guard decides which of the two it requires. */
function metricsCredentialOf(request: IncomingMessage): Credentials {
  const adminKey = request.headers['x-admin-key'];
  return {
    ...noCredentials,
    authorization: isOneBearer(request) ? request.headers.authorization : undefined,
    adminKey: adminKey === undefined || adminKey === '' ? undefined : String(adminKey),
  };
}

const isOneBearer = (request: IncomingMessage): boolean =>
  /^bearer +\S+ *$/i.test(request.headers.authorization ?? '') && countHeader(request, 'authorization') === 1;

/** Whether there is a header with more than the word Bearer, so that it is malformed rather than missing. */
const hasAuthorization = ({ headers: { authorization = '' } }: IncomingMessage): boolean => !/^(?:bearer)?\s*$/i.test(authorization);

function adminKeyOf(request: IncomingMessage): string {
  const key = request.headers['x-admin-key'];
  if (key === undefined || key === '') throw new ServiceError('missing_admin_key', 'Send the admin key in the header `x-admin-key`.');
  // Node joins repeated headers with a comma, which no key contains: the guard refuses it like any other invalid key.
  return String(key);
}

/** Node joins repeated headers or drops all but the first, so the raw list is counted. */
export function countHeader({ rawHeaders }: IncomingMessage, name: string): number {
  let count = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const raw = rawHeaders[at];
    if (raw !== undefined && raw.length === name.length && raw.toLowerCase() === name) count += 1;
  }
  return count;
}
