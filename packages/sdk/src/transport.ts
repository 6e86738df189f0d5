/** Sends requests: credentials, attempts with their waits, and what comes back. */
import type { Call, RequestOptions, WithResponse } from './call.ts';
import { BerthError, parse, toBerthError } from './errors.ts';
import { version } from './generated/operations.ts';
import type { Settings } from './settings.ts';

export interface Request {
  method: string;
  /** Path from the root of the service, with its ids encoded. */
  path: string;
  query?: Record<string, unknown> | undefined;
  /** What is sent as JSON, unless it is a form. */
  body?: unknown;
  /** How the reply is read. Default: as JSON. */
  reply?: 'json' | 'text' | 'response' | 'empty' | undefined;
  isAdmin?: boolean | undefined;
  takesIdempotencyKey?: boolean | undefined;
  /** Maximum time of an attempt where the caller does not say. */
  timeoutMs?: number | undefined;
  headers?: Record<string, string> | undefined;
}

export type Wait = (milliseconds: number, signal?: AbortSignal) => Promise<void>;

export interface TransportOptions {
  settings: () => Promise<Settings>;
  fetch: typeof fetch;
  wait: Wait;
  maxRetries: number;
  timeoutMs: number | undefined;
}

/** The wait before the second attempt, which doubles with each further one. */
const firstWaitMs = 500;
const waitMsMax = 8000;
/** Waits end up to a quarter earlier, so that clients that failed together do not come back together. */
const jitter = 0.25;
/** A caller who must wait longer than this decides by itself whether to. */
const retryAfterSecondsMax = 60;
const timeoutMsDefault = 60_000;

export class Transport {
  readonly #options: TransportOptions;

  constructor(options: TransportOptions) {
    this.#options = options;
  }

  /** Sends a request, again where that helps, and returns its value. */
  send<T>(request: () => Request, options: RequestOptions = {}): Call<T> {
    return asCall(this.#sendWithRetries<T>(request, options));
  }

  /** Waits before the attempt with this number, from 1. */
  async pause(attempt: number, retryAfterSeconds: number | null, signal?: AbortSignal): Promise<void> {
    const grown = Math.min(waitMsMax, firstWaitMs * 2 ** (attempt - 1)) * (1 - Math.random() * jitter);
    await this.#options.wait(retryAfterSeconds === null ? grown : retryAfterSeconds * 1000, signal);
    signal?.throwIfAborted();
  }

  /** Whether an error may pass before the next attempt. */
  canRetry(error: unknown, attempt: number, { maxRetries = this.#options.maxRetries }: RequestOptions): error is BerthError {
    return (
      error instanceof BerthError && error.retryable && attempt <= maxRetries && (error.retryAfterSeconds ?? 0) <= retryAfterSecondsMax
    );
  }

  async #sendWithRetries<T>(describe: () => Request, given: RequestOptions): Promise<WithResponse<T>> {
    const request = describe();
    const options = withKey(request, given);
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.attempt<T>(request, options);
      } catch (error) {
        if (!this.canRetry(error, attempt, options)) throw error;
        await this.pause(attempt, error.retryAfterSeconds, options.signal);
      }
    }
  }

  /** Sends a request once. */
  async attempt<T>(request: Request, options: RequestOptions): Promise<WithResponse<T>> {
    const { signal, timeoutMs = request.timeoutMs ?? this.#options.timeoutMs ?? timeoutMsDefault } = options;
    const settings = await this.#options.settings();
    const headers = headersOf(request, settings, options);
    signal?.throwIfAborted();
    const deadline = new AbortController();
    const timer = setTimeout(() => deadline.abort(), timeoutMs);
    try {
      const response = await this.#options.fetch(settings.baseUrl + request.path + search(request.query), {
        ...bodyOf(request),
        method: request.method,
        headers,
        signal: signal ? AbortSignal.any([signal, deadline.signal]) : deadline.signal,
        // A redirect can turn a POST into a GET, and takes the key to another host.
        redirect: 'manual',
      });
      return { data: (await read(request, response)) as T, response, requestId: response.headers.get('x-request-id') };
    } catch (error) {
      signal?.throwIfAborted();
      if (error instanceof BerthError) throw error;
      if (deadline.signal.aborted)
        throw new BerthError({ code: 'timed_out', message: `${settings.baseUrl} did not answer in ${timeoutMs} ms.`, retryable: true });
      const message = `${settings.baseUrl} cannot be reached, or the connection broke. Is the service running, and the base URL right?`;
      throw new BerthError({ code: 'connection_failed', message, retryable: true, cause: error });
    } finally {
      clearTimeout(timer);
    }
  }
}

/** A promise with the response that it came in. A call of which only one is awaited leaves no rejection of the other behind. */
export function asCall<T>(full: Promise<WithResponse<T>>): Call<T> {
  const data = full.then((reply) => reply.data);
  return Object.assign(data, {
    withResponse: (): Promise<WithResponse<T>> => {
      data.catch(() => undefined);
      return full;
    },
  });
}

/** A call with another value. */
export const mapCall = <T, U>(call: Call<T>, map: (value: T, reply: WithResponse<T>) => U): Call<U> =>
  asCall(call.withResponse().then((reply) => ({ ...reply, data: map(reply.data, reply) })));

const withKey = ({ takesIdempotencyKey = false }: Request, options: RequestOptions): RequestOptions =>
  takesIdempotencyKey ? { idempotencyKey: newKey(), ...options } : options;

/** `randomUUID` is missing in pages that are not served over TLS. */
const newKey = (): string => Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');

function headersOf(request: Request, settings: Settings, { idempotencyKey, headers }: RequestOptions): Record<string, string> {
  const { isAdmin = false, body, takesIdempotencyKey = false } = request;
  return {
    accept: 'application/json',
    // Pages cannot set it, and ask the service for permission first.
    ...('document' in globalThis ? {} : { 'user-agent': `berth-sdk/${version}` }),
    ...credential(isAdmin, settings),
    ...(body === undefined || isForm(body) ? {} : { 'content-type': 'application/json' }),
    ...(takesIdempotencyKey && idempotencyKey !== undefined ? { 'idempotency-key': idempotencyKey } : {}),
    ...request.headers,
    ...headers,
  };
}

function credential(isAdmin: boolean, { apiKey, adminKey, needsKey }: Settings): Record<string, string> {
  if (isAdmin ? adminKey !== undefined : apiKey !== undefined)
    return isAdmin ? { 'x-admin-key': adminKey as string } : { authorization: `Bearer ${apiKey}` };
  if (!needsKey) return {};
  throw new TypeError(
    isAdmin
      ? 'This call needs an admin key: pass adminKey, or set BERTH_ADMIN_KEY.'
      : 'No API key: pass apiKey, set BERTH_API_KEY, or sign in with the command line (`berth login`).',
  );
}

export const isForm = (body: unknown): body is FormData | StreamedForm => body instanceof FormData || body instanceof StreamedForm;

/** A form whose file is read while it is sent. It can be sent once. */
export class StreamedForm {
  readonly contentType: string;
  readonly stream: ReadableStream<Uint8Array>;

  constructor(contentType: string, stream: ReadableStream<Uint8Array>) {
    this.contentType = contentType;
    this.stream = stream;
  }
}

function bodyOf({ body }: Request): RequestInit {
  if (body === undefined) return {};
  // `duplex` is required for streams, and unknown to the types of some runtimes.
  if (body instanceof StreamedForm) return { body: body.stream, duplex: 'half' } as RequestInit;
  return { body: body instanceof FormData ? body : JSON.stringify(body) };
}

/** Lists are joined by commas, and fields of objects are spelled out: `metadata.KEY=VALUE`. */
function search(query: Record<string, unknown> = {}): string {
  const params = new URLSearchParams();
  const add = (name: string, value: unknown): void => {
    if (value === undefined || value === null) return;
    if (typeof value === 'object' && !Array.isArray(value)) for (const [key, inner] of Object.entries(value)) add(`${name}.${key}`, inner);
    else params.append(name, Array.isArray(value) ? value.join(',') : `${value as string | number | boolean}`);
  };
  for (const [name, value] of Object.entries(query)) add(name, value);
  return params.size === 0 ? '' : `?${params}`;
}

async function read({ reply = 'json' }: Request, response: Response): Promise<unknown> {
  if (!response.ok) throw toBerthError(response, await response.text());
  if (reply === 'response') return response;
  const text = await response.text();
  // A path that is called by hand may have no reply: 204 (RFC 9110, 15.3.5).
  if (reply === 'empty' || response.status === 204) return undefined;
  if (reply === 'text') return text;
  const value = parse(text);
  if (value !== undefined) return value;
  throw toBerthError(response, text);
}
