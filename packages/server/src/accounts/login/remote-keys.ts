/**
 * The signing keys that an identity provider publishes.
 *
 * They are fetched on demand, by one request at a time and at most once in 30
 * seconds, successful or not. So tokens with made-up key ids and a provider that
 * is down cause little load. jose's createRemoteJWKSet has no such limit for
 * failures and uses the wall clock, which may jump.
 */
import { ServiceError } from '@berth/contract';
import { createLocalJWKSet, errors, type FlattenedJWSInput, type JSONWebKeySet, type JWSHeaderParameters } from 'jose';
import { abortAfter } from '@berth/lib/deadline.ts';
import type { Clock } from '@berth/lib/clock.ts';
import type { Log } from '@berth/lib/log.ts';
import type { LoginConfig } from './login-token.ts';

/** A withdrawn key stays valid for at most this time. */
const maxAgeMs = 600_000;
const cooldownMs = 30_000;
const timeoutMs = 5000;
/** Key sets are a few kilobytes. */
const documentBytesMax = 256 * 1024;

type KeyFinder = ReturnType<typeof createLocalJWKSet>;

interface RemoteKeysDeps {
  config: Pick<LoginConfig, 'issuer' | 'jwksUrl'>;
  clock: Clock;
  log: Log;
}

export class RemoteKeys {
  readonly #deps: RemoteKeysDeps;
  #cached: { find: KeyFinder; atMs: number } | null = null;
  /** {@link #failure} is the result of that attempt. */
  #lastAttemptMs = Number.NEGATIVE_INFINITY;
  #failure: unknown = null;
  #pending: Promise<void> | null = null;
  /** URL of the keys, from the discovery document or the configuration. The document is read again when no keys are there. */
  #discovered: URL | null = null;

  constructor(deps: RemoteKeysDeps) {
    this.#deps = deps;
  }

  /** The key that a token names. @throws JWKSNoMatchingKey, ServiceError login_unavailable when the keys cannot be read */
  readonly find = async (header: JWSHeaderParameters, token: FlattenedJWSInput): ReturnType<KeyFinder> => {
    const cached = await this.#findCached(header, token);
    if (cached) return cached;
    await this.#reload();
    const reloaded = await this.#findCached(header, token);
    if (reloaded) return reloaded;
    if (this.#failure !== null) throw this.#unavailable(this.#failure);
    throw new errors.JWKSNoMatchingKey();
  };

  async #findCached(header: JWSHeaderParameters, token: FlattenedJWSInput): Promise<Awaited<ReturnType<KeyFinder>> | null> {
    const cached = this.#cached;
    if (!cached || this.#deps.clock.monotonicMs() - cached.atMs >= maxAgeMs) return null;
    try {
      return await cached.find(header, token);
    } catch (error) {
      if (error instanceof errors.JWKSNoMatchingKey) return null;
      if (error instanceof errors.JWKSMultipleMatchingKeys) throw error;
      throw this.#unavailable(error);
    }
  }

  /** Has no effect within the cooldown. */
  async #reload(): Promise<void> {
    const nowMs = this.#deps.clock.monotonicMs();
    if (!this.#pending) {
      if (nowMs - this.#lastAttemptMs < cooldownMs) return;
      this.#lastAttemptMs = nowMs;
      this.#pending = this.#load(nowMs).finally(() => (this.#pending = null));
    }
    await this.#pending;
  }

  async #load(nowMs: number): Promise<void> {
    try {
      const keys = (await readDocument(await this.#keysUrl())) as JSONWebKeySet;
      const find = createLocalJWKSet(keys);
      // Treated as a failure: without keys, no token can be valid.
      if (keys.keys.length === 0) throw new Error('the set of keys is empty');
      this.#cached = { find, atMs: nowMs };
      this.#failure = null;
    } catch (error) {
      this.#discovered = null;
      this.#failure = error;
      this.#deps.log.warn({ err: error, issuer: this.#deps.config.issuer }, 'identity provider keys not readable');
    }
  }

  async #keysUrl(): Promise<URL> {
    const { issuer, jwksUrl } = this.#deps.config;
    this.#discovered ??= jwksUrl === null ? await discover(issuer) : new URL(jwksUrl);
    return this.#discovered;
  }

  #unavailable(cause: unknown): ServiceError {
    const waitMs = Math.max(0, this.#lastAttemptMs + cooldownMs - this.#deps.clock.monotonicMs());
    return new ServiceError('login_unavailable', 'The keys of the identity provider are unavailable. Try again shortly.', {
      cause,
      internal: 'the keys of the identity provider cannot be read',
      retryAfterSeconds: waitMs / 1000,
    });
  }
}

/** Reads `jwks_uri` from the discovery document. */
async function discover(issuer: string): Promise<URL> {
  const document = (await readDocument(new URL(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`))) as Record<
    string,
    unknown
  > | null;
  if (document?.['issuer'] !== issuer) throw new Error(`the discovery document names another issuer than ${issuer}`);
  const url = new URL(String(document['jwks_uri']));
  if (url.protocol !== 'https:' && url.protocol !== new URL(issuer).protocol) throw new Error('jwks_uri must use https like the issuer');
  return url;
}

async function readDocument(url: URL): Promise<unknown> {
  const response = await fetch(url, {
    redirect: 'error',
    headers: { accept: 'application/json, application/jwk-set+json' },
    signal: abortAfter(timeoutMs),
  });
  if (response.status !== 200) {
    await response.body?.cancel();
    throw new Error(`${url.origin}${url.pathname} answered ${response.status}`);
  }
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    if (bytes > documentBytesMax) throw new Error(`${url.origin}${url.pathname} is larger than ${documentBytesMax} bytes`);
    chunks.push(chunk);
  }
  return JSON.parse(Buffer.concat(chunks).toString('utf8'));
}
