/**
 * An HTTP client that leaves by a way out, as the way's browser does: every
 * connection is checked, pinned, proxied and counted by the way, for each hop
 * of a redirect anew.
 */
import { systemClock } from '../lib/clock.ts';
import type { Clock } from '../lib/clock.ts';
import { LaneFull, Lanes } from '../lib/lanes.ts';
import { readBody } from './client-body.ts';
import { Connections, Wires } from './client-connections.ts';
import { OrderCookies } from './client-cookies.ts';
import type { OrderCookie } from './client-cookies.ts';
import { HttpFailure } from './client-failure.ts';
import type { HttpRedirect } from './client-failure.ts';
import {
  callerHeaders,
  firstHeader,
  outgoingHeaders,
  replyHeaders,
  withoutBodyHeaders,
  withoutCredentialHeaders,
} from './client-headers.ts';
import type { CallerHeaders } from './client-headers.ts';
import { ask } from './client-hop.ts';
import type { Answer, HopParts } from './client-hop.ts';
import { redirectTarget, withoutCredentials } from './client-target.ts';
import type { EgressWay } from './policy.ts';
import { Way } from './way.ts';

export type { OrderCookie } from './client-cookies.ts';
export { HttpFailure } from './client-failure.ts';
export type { HttpProgress, HttpRedirect } from './client-failure.ts';

export type HttpMethod = 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'OPTIONS';

export interface HttpOrder {
  /** http:// or https://. Credentials in it are sent to its own site and told nowhere. */
  url: string;
  method: HttpMethod;
  /** Those that frame a message or belong to a connection are left out, with a warning. */
  headers: Readonly<Record<string, string>>;
  body: string | Buffer | null;
  cookies: readonly OrderCookie[];
  /** Decoded bytes that are kept. */
  maxBytes: number;
  /** Bytes of the last body as it is sent. */
  maxWireBytes: number;
  /** One more than these is `too_many_redirects`. Browsers follow 20. */
  redirectsMax: number;
  /** For all of it. When it passes while the body is read, what came is the outcome. */
  timeoutMs: number;
  /** Takes any certificate of the site. A proxy's is checked all the same. */
  ignoreHttpsErrors?: boolean | undefined;
}

export interface HttpOutcome {
  status: number;
  statusText: string;
  /** By lower-case name, repeated ones joined by ", ", without cookies. */
  headers: Record<string, string>;
  /** The names of the cookies that were set on the way, each once. */
  setCookieNames: string[];
  /** Where the reply came from, with the fragment, without credentials. */
  url: string;
  redirects: HttpRedirect[];
  body: Buffer;
  /** There was more, or may have been: the warnings say why it was not read. */
  truncated: boolean;
  contentType: string | null;
  /** On the wire, handshakes and redirects included, as the way counts them. */
  bytesIn: number;
  bytesOut: number;
  /** From the order to the head of the last reply. */
  ttfbMs: number;
  /** Codes: those of `client-body.ts`, `header_dropped:<name>`, `cookie_refused`. */
  warnings: string[];
}

export interface HttpClient {
  /** Throws {@link HttpFailure}, or the signal's reason. Any status is an outcome. */
  request(order: HttpOrder, options: { signal: AbortSignal }): Promise<HttpOutcome>;
  /** Ends what is under way as `aborted`, and drops the connections that are kept. */
  close(): void;
}

export interface HttpClientOptions {
  userAgent: string;
  /** `Accept-Language` where the order has none. */
  acceptLanguage?: string;
  /** PEM certificates for sites, instead of the usual ones. */
  ca?: string;
  clock?: Clock;
}

/** Requests of a client that run at once; each holds a connection and up to its `maxBytes`. */
const runningMax = 64;
/** More than a burst of jobs of one session brings; past it the callers' own queues are to wait. */
const waitingMax = 1024;
/** The order's own time ends its wait long before. */
const waitMsMax = 3_600_000;

/** A client for the way of one machine, or for one opened for it alone. The way must be the gate's. */
export function createHttpClient(way: EgressWay, options: HttpClientOptions): HttpClient {
  if (!(way instanceof Way)) throw new TypeError('A client leaves by a way that a gate has opened');
  const connections = new Connections(way, options.ca);
  const lanes = new Lanes({ width: runningMax, waitingMax, waitMsMax });
  const clock = options.clock ?? systemClock;
  const usual = {
    'User-Agent': options.userAgent,
    Accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8',
    'Accept-Language': options.acceptLanguage ?? 'en-US,en;q=0.9',
    'Accept-Encoding': 'gzip, deflate, br, zstd',
  };
  const closing = new Set<() => void>();
  let closed = false;

  const request = async (order: HttpOrder, { signal }: { signal: AbortSignal }): Promise<HttpOutcome> => {
    signal.throwIfAborted();
    const stop = new AbortController();
    const left = (): void => stop.abort(signal.reason);
    const shut = (): void => stop.abort(new HttpFailure('aborted', 'net::ERR_ABORTED'));
    const timer = setTimeout(() => stop.abort(new HttpFailure('timeout', 'net::ERR_TIMED_OUT')), order.timeoutMs);
    signal.addEventListener('abort', left, { once: true });
    closing.add(shut);
    if (closed) shut();
    const journey = new Journey({ way, connections, usual, clock, signal: stop.signal }, order);
    try {
      return await lanes.run('requests', stop.signal, () => journey.run());
    } catch (error) {
      throw journey.told(error);
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', left);
      closing.delete(shut);
    }
  };

  const close = (): void => {
    closed = true;
    for (const shut of closing) shut();
    connections.destroy();
  };

  return { request, close };
}

interface JourneyParts extends Omit<HopParts, 'wires'> {
  usual: Readonly<Record<string, string>>;
  clock: Clock;
}

/** What is asked next. */
interface Step {
  url: URL;
  method: HttpMethod;
  headers: CallerHeaders;
  body: Buffer | null;
}

/** One order, from its address over all redirects to the last reply. */
class Journey {
  readonly #parts: JourneyParts;
  readonly #order: HttpOrder;
  readonly #startedMs: number;
  readonly #wires = new Wires();
  readonly #cookies = new OrderCookies();
  readonly #redirects: HttpRedirect[] = [];
  readonly #warnings: string[] = [];

  constructor(parts: JourneyParts, order: HttpOrder) {
    this.#parts = parts;
    this.#order = order;
    this.#startedMs = parts.clock.monotonicMs();
  }

  async run(): Promise<HttpOutcome> {
    let step = this.#firstStep();
    for (;;) {
      const answer = await this.#ask(step);
      this.#cookies.take(answer.response.headers['set-cookie'] ?? [], step.url);
      const status = answer.response.statusCode ?? 0;
      const to = this.#redirectOf(step.url, answer);
      if (!to) return await this.#arrive(step.url, answer);
      this.#redirects.push({ url: withoutCredentials(step.url), statusCode: status });
      await finished(answer);
      this.#wires.count();
      if (this.#redirects.length > this.#order.redirectsMax) throw new HttpFailure('too_many_redirects', 'net::ERR_TOO_MANY_REDIRECTS');
      step = redirected(step, to, status);
    }
  }

  /** A failure with what had happened before it. */
  told(error: unknown): unknown {
    const failure = error instanceof LaneFull ? new HttpFailure('aborted', 'net::ERR_INSUFFICIENT_RESOURCES') : error;
    if (!(failure instanceof HttpFailure)) return failure;
    return new HttpFailure(failure.reason, failure.netError, { redirects: [...this.#redirects], ...this.#wires.count() });
  }

  #firstStep(): Step {
    const { url: address, method, headers, body, cookies } = this.#order;
    const url = URL.parse(address);
    if (!url) throw new HttpFailure('aborted', 'net::ERR_INVALID_URL');
    const { kept, dropped } = callerHeaders(headers);
    this.#warnings.push(...dropped.map((name) => `header_dropped:${name}`));
    if (!this.#cookies.give(cookies, url)) this.#warnings.push('cookie_refused');
    return { url, method, headers: kept, body: typeof body === 'string' ? Buffer.from(body) : body };
  }

  #ask(step: Step): Promise<Answer> {
    const headers = outgoingHeaders({ ...step, cookie: this.#cookies.header(step.url), usual: this.#parts.usual });
    const { url, method, body } = step;
    return ask(
      { ...this.#parts, wires: this.#wires },
      { url, method, body, headers, ignoreHttpsErrors: this.#order.ignoreHttpsErrors ?? false },
    );
  }

  #redirectOf(from: URL, { response, drop }: Answer): URL | null {
    try {
      return redirectTarget(from, response.statusCode ?? 0, firstHeader(response, 'location'));
    } catch (error) {
      this.#redirects.push({ url: withoutCredentials(from), statusCode: response.statusCode ?? 0 });
      drop();
      throw error;
    }
  }

  async #arrive(url: URL, { response, drop }: Answer): Promise<HttpOutcome> {
    const ttfbMs = this.#parts.clock.monotonicMs() - this.#startedMs;
    const body = await readBody(response, this.#order, { signal: this.#parts.signal, drop });
    return {
      status: response.statusCode ?? 0,
      statusText: response.statusMessage ?? '',
      headers: replyHeaders(response),
      setCookieNames: this.#cookies.names,
      url: withoutCredentials(url),
      redirects: this.#redirects,
      body: body.bytes,
      truncated: body.truncated,
      contentType: firstHeader(response, 'content-type'),
      ...this.#wires.count(),
      ttfbMs,
      warnings: [...this.#warnings, ...body.warnings],
    };
  }
}

/** A redirect's body is not waited for: the connection is kept only if all of it has come with the head. */
async function finished({ response, drop }: Answer): Promise<void> {
  if (!response.complete) return drop();
  await new Promise((resolve) => response.once('end', resolve).once('close', resolve).resume());
}

/** Methods and bodies as browsers send them on; what is the caller's secret stays with the site that it was for. */
function redirected({ url, method, headers, body }: Step, to: URL, status: number): Step {
  const kept = to.origin === url.origin ? headers : withoutCredentialHeaders(headers);
  const becomesGet = status === 303 ? method !== 'GET' && method !== 'HEAD' : (status === 301 || status === 302) && method === 'POST';
  return becomesGet ? { url: to, method: 'GET', headers: withoutBodyHeaders(kept), body: null } : { url: to, method, headers: kept, body };
}
