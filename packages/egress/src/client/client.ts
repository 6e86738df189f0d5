/**
 * An HTTP client behind the egress gate: each connection, of each redirect too,
 * is checked, pinned, proxied and counted by the route, as a browser's is.
 */
import { systemClock, type Clock } from '@berth/lib/clock.ts';
import { Deadline } from '@berth/lib/deadline.ts';
import { LaneFullError, Lanes } from '@berth/lib/turns/lanes.ts';
import { withoutFragment } from '@berth/lib/refresh.ts';
import { withoutCredentials } from '@berth/lib/text/urls.ts';
import { readBody } from './body.ts';
import { RequestCookies, type RequestCookie } from './cookies.ts';
import { HttpError, type HttpRedirect } from './failure.ts';
import {
  callerHeaders,
  contentTypeOf,
  firstHeader,
  outgoingHeaders,
  replyHeaders,
  withoutBodyHeaders,
  withoutCredentialHeaders,
  type CallerHeaders,
} from './headers.ts';
import { ask, ByteCounter, type HopDeps } from './hop.ts';
import { redirectTarget } from './target.ts';
import { Connections, type PlannedResponse } from '../gate/connections.ts';
import type { EgressRoute } from '../policy.ts';
import { MachineEgress } from '../upstreams/egress-route.ts';

export type { RequestCookie } from './cookies.ts';
export { HttpError } from './failure.ts';
export type { HttpProgress, HttpRedirect } from './failure.ts';

export type HttpMethod = 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'OPTIONS';

export interface HttpRequestOptions {
  /** http:// or https://. Credentials in it are sent to its own site only. */
  url: string;
  method: HttpMethod;
  /** The caller's headers. Those that frame a message or belong to a connection are left out, with a warning. */
  headers: Readonly<Record<string, string>>;
  body: string | Buffer | null;
  cookies: readonly RequestCookie[];
  /** Decoded bytes that are kept. */
  bodyBytesMax: number;
  /** Bytes of the last body as it is sent. */
  wireBytesMax: number;
  /** One more than these is `too_many_redirects`. Browsers follow 20. */
  redirectsMax: number;
  /** The time for the whole request. If it passes while the body is read, the result is what was received. */
  timeoutMs: number;
  /** The address to which a page sends its visitor by itself: it is read instead, with GET, and counts as a redirect. */
  next?: ((page: HttpResult) => Promise<string | null>) | undefined;
  /** Takes any certificate of the site. A proxy's is checked all the same. */
  ignoreHttpsErrors?: boolean | undefined;
}

export interface HttpResult {
  status: number;
  statusText: string;
  /** The headers by lower-case name, repeated ones joined by ", ", without cookies. */
  headers: Record<string, string>;
  /** The names of the cookies that any response set, each once. */
  setCookieNames: string[];
  /** The URL of the reply, with the fragment, without credentials. */
  url: string;
  redirects: HttpRedirect[];
  body: Buffer;
  /** There was more, or may have been: the warnings say why it was not read. */
  truncated: boolean;
  /** The `net::ERR_…` for which browsers show nothing of the body, whatever is in it; null where they show something. */
  unreadable: string | null;
  contentType: string | null;
  /** Bytes on the wire, handshakes and redirects included, as the route counts them. */
  bytesIn: number;
  bytesOut: number;
  /** Time from the start of the request to the head of the last response. */
  ttfbMs: number;
  /** Codes: those of `body.ts`, `header_dropped:<name>`, `cookie_refused`, `redirect_not_followed:<url>`. */
  warnings: string[];
}

export interface HttpClient {
  /** Any status is a result. @throws HttpError, or the signal's reason */
  request(requestOptions: HttpRequestOptions, options: { signal: AbortSignal }): Promise<HttpResult>;
  /** Ends running requests as `aborted`, and drops the connections that are kept. */
  close(): void;
}

export interface HttpClientOptions {
  userAgent: string;
  /** `Accept-Language` where the request has none. */
  acceptLanguage?: string;
  /** PEM certificates for sites, instead of the usual ones. */
  ca?: string;
  clock?: Clock;
}

/** Requests of a client that run at once; each holds a connection and up to its `maxBytes`. */
const runningMax = 64;
/** Maximum waiting requests: more than a burst of jobs of one session; beyond it the callers' own queues are to wait. */
const waitingMax = 1024;
/** Maximum wait of a request, whose own timeout ends it long before. */
const waitMsMax = 3_600_000;

/** Idle connections of a client in all: some twenty sites' worth, so that a batch over many sites is not left with hundreds. */
const idleMax = 64;
/** Maximum idle connections to one site: as many as a batch of small pages opens at once. */
const idlePerSiteMax = 16;

/** A client for the route of a machine, or for a route of its own. @throws TypeError when a gate did not open the route */
export function createHttpClient(route: EgressRoute, options: HttpClientOptions): HttpClient {
  if (!(route instanceof MachineEgress)) throw new TypeError('The route must be opened by an egress gate');
  const connections = new Connections((...planned) => route.open(...planned), {
    keepAliveMs: route.limits.keepAliveMs,
    idlePerSiteMax,
    idleMax,
    ca: options.ca,
  });
  const lanes = new Lanes({ width: runningMax, waitingMax, waitMsMax });
  const clock = options.clock ?? systemClock;
  const defaultHeaders = {
    'User-Agent': options.userAgent,
    Accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8',
    'Accept-Language': options.acceptLanguage ?? 'en-US,en;q=0.9',
    'Accept-Encoding': 'gzip, deflate, br, zstd',
  };
  const closed = new AbortController();

  const request = async (requestOptions: HttpRequestOptions, { signal }: { signal: AbortSignal }): Promise<HttpResult> => {
    signal.throwIfAborted();
    const { timeoutMs } = requestOptions;
    const reason = (): Error => new HttpError('timeout', 'net::ERR_TIMED_OUT');
    return Deadline.run({ signal: AbortSignal.any([signal, closed.signal]), timeoutMs, reason }, async ({ signal: either }) => {
      const exchange = new RequestExchange({ route, connections, defaultHeaders, clock, signal: either }, requestOptions);
      try {
        return await lanes.run('requests', either, () => exchange.run());
      } catch (error) {
        throw exchange.withProgress(error);
      }
    });
  };

  const close = (): void => {
    closed.abort(new HttpError('aborted', 'net::ERR_ABORTED'));
    connections.destroy();
  };

  return { request, close };
}

interface ExchangeDeps extends Omit<HopDeps, 'bytes'> {
  defaultHeaders: Readonly<Record<string, string>>;
  clock: Clock;
}

/** The next request of a redirect chain. */
interface Step {
  url: URL;
  method: HttpMethod;
  headers: CallerHeaders;
  body: Buffer | null;
}

/** One request, over all redirects to the last response. */
class RequestExchange {
  readonly #deps: ExchangeDeps;
  readonly #requestOptions: HttpRequestOptions;
  readonly #startedMs: number;
  readonly #bytes = new ByteCounter();
  readonly #cookies = new RequestCookies();
  readonly #redirects: HttpRedirect[] = [];
  /** Addresses of documents that were read, of those too that led on by themselves. */
  readonly #pages: string[] = [];
  readonly #warnings: string[] = [];

  constructor(deps: ExchangeDeps, requestOptions: HttpRequestOptions) {
    this.#deps = deps;
    this.#requestOptions = requestOptions;
    this.#startedMs = deps.clock.monotonicMs();
  }

  async run(): Promise<HttpResult> {
    let step = this.#firstStep();
    for (;;) {
      const answer = await this.#ask(step);
      this.#cookies.take(answer.response.headers['set-cookie'] ?? [], step.url);
      const status = answer.response.statusCode ?? 0;
      const to = this.#redirectOf(step.url, answer);
      if (to) {
        this.#leave(step.url, status);
        await finished(answer);
        this.#bytes.count();
        step = redirected(step, to, status);
        continue;
      }
      const result = await this.#arrive(step.url, answer);
      const next = await this.#nextOf(step.url, result);
      if (!next) return result;
      this.#leave(step.url, status);
      step = redirected(step, next, 303);
    }
  }

  #leave(url: URL, statusCode: number): void {
    this.#redirects.push({ url: withoutCredentials(url), statusCode });
    if (this.#redirects.length > this.#requestOptions.redirectsMax)
      throw new HttpError('too_many_redirects', 'net::ERR_TOO_MANY_REDIRECTS');
  }

  /** The address to which a page sends its visitor. One that leads back, or to itself, is followed once: the page may want a cookie. */
  async #nextOf(from: URL, result: HttpResult): Promise<URL | null> {
    this.#pages.push(withoutFragment(from.href));
    const next = URL.parse((await this.#requestOptions.next?.(result)) ?? '');
    if (!next) return null;
    const reads = this.#pages.filter((page) => page === withoutFragment(next.href)).length;
    if (reads < 2) return next;
    result.warnings.push(`redirect_not_followed:${withoutCredentials(next)}`);
    return null;
  }

  /** A failure with what had happened before it. */
  withProgress(error: unknown): unknown {
    const failure = error instanceof LaneFullError ? new HttpError('aborted', 'net::ERR_INSUFFICIENT_RESOURCES') : error;
    if (!(failure instanceof HttpError)) return failure;
    const { reason, netError, refusal } = failure;
    return new HttpError(reason, netError, { refusal, progress: { redirects: [...this.#redirects], ...this.#bytes.count() } });
  }

  #firstStep(): Step {
    const { url: address, method, headers, body, cookies } = this.#requestOptions;
    const url = URL.parse(address);
    if (!url) throw new HttpError('aborted', 'net::ERR_INVALID_URL');
    const { forwarded, dropped } = callerHeaders(headers);
    this.#warnings.push(...dropped.map((name) => `header_dropped:${name}`));
    if (!this.#cookies.give(cookies, url)) this.#warnings.push('cookie_refused');
    return { url, method, headers: forwarded, body: typeof body === 'string' ? Buffer.from(body) : body };
  }

  #ask(step: Step): Promise<PlannedResponse> {
    const headers = outgoingHeaders({ ...step, cookie: this.#cookies.header(step.url), defaultHeaders: this.#deps.defaultHeaders });
    const { url, method, body } = step;
    return ask(
      { ...this.#deps, bytes: this.#bytes },
      { url, method, body, headers, ignoresTlsErrors: this.#requestOptions.ignoreHttpsErrors ?? false },
    );
  }

  #redirectOf(from: URL, { response, drop }: PlannedResponse): URL | null {
    try {
      return redirectTarget(from, response.statusCode ?? 0, firstHeader(response, 'location'));
    } catch (error) {
      this.#redirects.push({ url: withoutCredentials(from), statusCode: response.statusCode ?? 0 });
      drop();
      throw error;
    }
  }

  async #arrive(url: URL, { response, drop }: PlannedResponse): Promise<HttpResult> {
    const ttfbMs = this.#deps.clock.monotonicMs() - this.#startedMs;
    const body = await readBody(response, this.#requestOptions, { signal: this.#deps.signal, drop });
    return {
      status: response.statusCode ?? 0,
      statusText: response.statusMessage ?? '',
      headers: replyHeaders(response),
      setCookieNames: this.#cookies.names,
      url: withoutCredentials(url),
      redirects: [...this.#redirects],
      body: body.bytes,
      truncated: body.truncated,
      unreadable: body.unreadable,
      contentType: contentTypeOf(response),
      ...this.#bytes.count(),
      ttfbMs,
      warnings: [...this.#warnings, ...body.warnings],
    };
  }
}

/** A redirect's body is not waited for: the connection is kept only if all of it has come with the head. */
async function finished({ response, drop }: PlannedResponse): Promise<void> {
  if (!response.complete) return drop();
  await new Promise((resolve) => response.once('end', resolve).once('close', resolve).resume());
}

/** Methods and bodies as browsers send them on; what is the caller's secret stays with the site that it was for. */
function redirected({ url, method, headers, body }: Step, to: URL, status: number): Step {
  const forwarded = to.origin === url.origin ? headers : withoutCredentialHeaders(headers);
  const becomesGet = status === 303 ? method !== 'GET' && method !== 'HEAD' : (status === 301 || status === 302) && method === 'POST';
  return becomesGet
    ? { url: to, method: 'GET', headers: withoutBodyHeaders(forwarded), body: null }
    : { url: to, method, headers: forwarded, body };
}
