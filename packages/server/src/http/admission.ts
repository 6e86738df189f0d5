import { ServiceError } from '@berth/contract';
import type { Endpoint } from '@berth/contract';
import type { IncomingMessage } from 'node:http';
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import type { Credentials, Guards, Principal } from './call.ts';
import { takesLinks } from './error-page.ts';
import type { Exchange } from './exchange.ts';
import { networkOf } from './peer.ts';
import type { Peers } from './peer.ts';
import type { RawRequest } from './validate.ts';
import { viewCookieName, viewCookiesOf } from './view-cookie.ts';

export interface AdmissionOptions {
  guards: Guards;
  peers: Peers;
  /** Wrong or missing credentials that one address may send in a minute; null: as many as it likes. */
  authFailuresPerMinute: number | null;
  /** Requests with the operator's key in a minute; null: as many as it likes. */
  adminRequestsPerMinute: number | null;
}

const windowSeconds = 60;

/**
 * Who may come in: credentials, then the caller's rate.
 *
 * Failures are counted for each address, but a right key is let in from an
 * address that has failed too often: several callers may share it.
 */
export class Admission {
  #options: AdmissionOptions;
  #failures: RateLimiterMemory | null;
  /** One limiter for each rate that some plan allows: plans are few. */
  #byRate = new Map<number, RateLimiterMemory>();

  constructor(options: AdmissionOptions) {
    this.#options = options;
    this.#failures =
      options.authFailuresPerMinute === null
        ? null
        : new RateLimiterMemory({ points: options.authFailuresPerMinute, duration: windowSeconds });
  }

  /** Throws the error of a credential that is missing or wrong, or `rate_limited`. */
  async admit(endpoint: Endpoint, exchange: Exchange, raw: RawRequest): Promise<void> {
    if (endpoint.auth === 'none') {
      exchange.principal = await this.#options.guards.none(noCredentials);
      return;
    }
    const principal = await this.#authenticate(endpoint, exchange.request, raw);
    exchange.principal = principal;
    const perMinute = endpoint.auth === 'admin' ? this.#options.adminRequestsPerMinute : principal.requestsPerMinute;
    if (perMinute !== null) await this.#take(exchange, principal.scope, perMinute);
  }

  async #authenticate(endpoint: Endpoint, request: IncomingMessage, raw: RawRequest): Promise<Principal> {
    try {
      return await this.#options.guards[endpoint.auth](this.#credentialsOf(endpoint, request, raw));
    } catch (error) {
      if (error instanceof ServiceError && (error.status === 401 || error.status === 403)) await this.#countFailure(request);
      throw error;
    }
  }

  /** What the request carries, in the form that the endpoint's guard takes. Throws the error of what is missing. */
  #credentialsOf(endpoint: Endpoint, request: IncomingMessage, raw: RawRequest): Credentials {
    if (endpoint.auth === 'metrics') return metricsCredentialOf(request);
    if (endpoint.auth === 'login') return loginTokenOf(request);
    if (endpoint.auth === 'admin') return { ...noCredentials, adminKey: adminKeyOf(request), params: raw.params };
    if (takesLinks(endpoint.auth)) return linkOf(endpoint, request, raw, viewCookieName(this.#options.peers.origin(request)));
    const token = endpoint.auth === 'connect' ? tokenOf(raw) : undefined;
    const { authorization } = request.headers;
    if (token !== undefined && authorization === undefined) return { ...noCredentials, token, params: raw.params };
    if (!isOneBearer(request)) throw new ServiceError('missing_api_key', 'Send one API key as `Authorization: Bearer KEY`.');
    return { ...noCredentials, authorization, token, params: raw.params };
  }

  async #countFailure(request: IncomingMessage): Promise<void> {
    const state = await this.#failures?.penalty(networkOf(this.#options.peers.address(request)));
    if (state && state.consumedPoints > (this.#options.authFailuresPerMinute ?? 0))
      throw rateLimited('Too many requests without a valid credential came from your address.', state);
  }

  async #take(exchange: Exchange, scope: string, perMinute: number): Promise<void> {
    let limiter = this.#byRate.get(perMinute);
    if (!limiter) this.#byRate.set(perMinute, (limiter = new RateLimiterMemory({ points: perMinute, duration: windowSeconds })));
    try {
      tellRate(exchange, perMinute, await limiter.consume(scope));
    } catch (state) {
      if (!(state instanceof RateLimiterRes)) throw state;
      tellRate(exchange, perMinute, state);
      throw rateLimited(`At most ${perMinute} requests a minute are allowed.`, state);
    }
  }
}

const noCredentials: Credentials = { authorization: undefined, adminKey: undefined, token: undefined, viewCookies: [], params: {} };

const rateLimited = (message: string, state: RateLimiterRes): ServiceError =>
  new ServiceError('rate_limited', `${message} Wait and try again.`, { retryAfterSeconds: state.msBeforeNext / 1000 });

function tellRate(exchange: Exchange, perMinute: number, state: RateLimiterRes): void {
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

/** A link's token, which is on purpose, before the cookies of earlier links; a key only where programs come too. */
function linkOf({ auth }: Endpoint, request: IncomingMessage, raw: RawRequest, cookieName: string): Credentials {
  const token = tokenOf(raw);
  if (token !== undefined) return { ...noCredentials, token, params: raw.params };
  const viewCookies = viewCookiesOf(request.headers.cookie, cookieName);
  const authorization = auth === 'recording' && isOneBearer(request) ? request.headers.authorization : undefined;
  if (viewCookies.length === 0 && authorization === undefined)
    throw new ServiceError(
      'missing_view_token',
      'This address is opened with a link. Ask for one with `POST …/view-token` or `POST …/vnc-token`.',
    );
  return { ...noCredentials, authorization, viewCookies, params: raw.params };
}

const tokenOf = ({ query: { token } }: RawRequest): string | undefined => (typeof token === 'string' && token !== '' ? token : undefined);

function loginTokenOf(request: IncomingMessage): Credentials {
  if (!isOneBearer(request))
    throw new ServiceError(
      'missing_login_token',
      'Send the login token of your identity provider as `Authorization: Bearer TOKEN`. API keys are not taken here.',
    );
  return { ...noCredentials, authorization: request.headers.authorization };
}

/** Which of the two is asked for, the guard knows. */
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

function adminKeyOf(request: IncomingMessage): string {
  const key = request.headers['x-admin-key'];
  if (key === undefined || key === '') throw new ServiceError('missing_admin_key', 'Send the admin key in the header `x-admin-key`.');
  // A doubled header arrives joined by a comma, which no key holds: the guard refuses it like any other wrong key.
  return String(key);
}

/** Node folds doubled headers into one or drops the second, so the raw list is asked. */
export function countHeader({ rawHeaders }: IncomingMessage, name: string): number {
  let count = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const raw = rawHeaders[at];
    if (raw !== undefined && raw.length === name.length && raw.toLowerCase() === name) count += 1;
  }
  return count;
}
