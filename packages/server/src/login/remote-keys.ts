/**
 * The keys that an identity provider publishes.
 *
 * They are asked for when a token needs them, by one request at a time and at
 * most one in 30 seconds, whether it succeeded or not: tokens with made-up key
 * ids, and a provider that is down, cost nobody more than that. jose has the
 * like, but asks again and again while a provider fails, and by the wall clock,
 * which may jump.
 */
import { ServiceError } from '@berth/contract';
import { createLocalJWKSet, errors, type FlattenedJWSInput, type JSONWebKeySet, type JWSHeaderParameters } from 'jose';
import type { Clock } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import type { LoginConfig } from './login-config.ts';

/** How long keys are believed: a key that was withdrawn is good for this much longer. */
const maxAgeMs = 600_000;
const coolDownMs = 30_000;
const timeoutMs = 5000;
/** Of a document of the provider. Sets of keys are a few kilobytes. */
const documentBytesMax = 256 * 1024;

type KeyFinder = ReturnType<typeof createLocalJWKSet>;

interface RemoteKeysDeps {
  config: Pick<LoginConfig, 'issuer' | 'jwksUrl'>;
  clock: Clock;
  log: Log;
}

export class RemoteKeys {
  readonly #deps: RemoteKeysDeps;
  #known: { find: KeyFinder; atMs: number } | null = null;
  /** Of the last attempt, which {@link #failure} tells the outcome of. */
  #triedMs = Number.NEGATIVE_INFINITY;
  #failure: unknown = null;
  #pending: Promise<void> | null = null;
  /** From the discovery document; asked for again when there are no keys at it. */
  #discovered: URL | null = null;

  constructor(deps: RemoteKeysDeps) {
    this.#deps = deps;
  }

  /** The key that a token names. Throws jose's JWKSNoMatchingKey for one that there is not, login_unavailable where that cannot be known. */
  readonly find = async (header: JWSHeaderParameters, token: FlattenedJWSInput): ReturnType<KeyFinder> => {
    const known = await this.#findKnown(header, token);
    if (known) return known;
    await this.#reload();
    const found = await this.#findKnown(header, token);
    if (found) return found;
    if (this.#failure !== null) throw this.#unavailable(this.#failure);
    throw new errors.JWKSNoMatchingKey();
  };

  async #findKnown(header: JWSHeaderParameters, token: FlattenedJWSInput): Promise<Awaited<ReturnType<KeyFinder>> | null> {
    const known = this.#known;
    if (!known || this.#deps.clock.monotonicMs() - known.atMs >= maxAgeMs) return null;
    try {
      return await known.find(header, token);
    } catch (error) {
      if (error instanceof errors.JWKSNoMatchingKey) return null;
      if (error instanceof errors.JWKSMultipleMatchingKeys) throw error;
      throw this.#unavailable(error);
    }
  }

  /** Resolves when there is no newer answer to wait for. */
  async #reload(): Promise<void> {
    const nowMs = this.#deps.clock.monotonicMs();
    if (!this.#pending) {
      if (nowMs - this.#triedMs < coolDownMs) return;
      this.#triedMs = nowMs;
      this.#pending = this.#load(nowMs).finally(() => (this.#pending = null));
    }
    await this.#pending;
  }

  async #load(nowMs: number): Promise<void> {
    try {
      const keys = (await readDocument(await this.#keysUrl())) as JSONWebKeySet;
      const find = createLocalJWKSet(keys);
      // As good as no answer: whoever has no keys has signed nothing.
      if (keys.keys.length === 0) throw new Error('the set of keys is empty');
      this.#known = { find, atMs: nowMs };
      this.#failure = null;
    } catch (error) {
      this.#discovered = null;
      this.#failure = error;
      this.#deps.log.warn({ err: error, issuer: this.#deps.config.issuer }, 'the identity provider’s keys cannot be read');
    }
  }

  async #keysUrl(): Promise<URL> {
    const { issuer, jwksUrl } = this.#deps.config;
    this.#discovered ??= jwksUrl === null ? await discover(issuer) : new URL(jwksUrl);
    return this.#discovered;
  }

  #unavailable(cause: unknown): ServiceError {
    const waitMs = Math.max(0, this.#triedMs + coolDownMs - this.#deps.clock.monotonicMs());
    return new ServiceError('login_unavailable', 'The identity provider’s keys cannot be read now. Try again.', {
      cause,
      internal: 'the identity provider’s keys cannot be read',
      retryAfterSeconds: waitMs / 1000,
    });
  }
}

/** Where the issuer says that its keys are. */
async function discover(issuer: string): Promise<URL> {
  const document = (await readDocument(new URL(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`))) as Record<
    string,
    unknown
  > | null;
  if (document?.['issuer'] !== issuer) throw new Error(`the discovery document is of another issuer than ${issuer}`);
  const url = new URL(String(document['jwks_uri']));
  if (url.protocol !== 'https:' && url.protocol !== new URL(issuer).protocol)
    throw new Error('the keys are at an address that is less safe than the issuer’s');
  return url;
}

async function readDocument(url: URL): Promise<unknown> {
  const response = await fetch(url, {
    redirect: 'error',
    headers: { accept: 'application/json, application/jwk-set+json' },
    signal: AbortSignal.timeout(timeoutMs),
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
