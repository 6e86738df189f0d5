/** Client of Berth. Entry point of this package. */
import type { Call, RequestOptions } from './call.ts';
import type { Calls, CallsJobs, CallsSessions, CreateSessionQuery } from './generated/calls.ts';
import type {
  AgentRequest,
  AgentResponse,
  CreateSessionRequest,
  FetchRequest,
  FetchResponse,
  InspectRequest,
  InspectResponse,
  JobResponse,
} from './generated/types.ts';
import { waitForJob, type JobReference, type JobWaitOptions } from './jobs.ts';
import { createCalls } from './operations.ts';
import { openSession, type Session } from './session.ts';
import { readSettings } from './settings.ts';
import { mapCall, Transport, type Wait } from './transport.ts';

export type * from './browsers.ts';
export type * from './call.ts';
export * from './errors.ts';
export type { FileSource } from './files.ts';
export type * from './generated/calls.ts';
export type * from './generated/types.ts';
export type { JobReference, JobWaitOptions } from './jobs.ts';
export type { Session } from './session.ts';
export { targetOf } from './target.ts';

export interface BerthOptions {
  /** API key. Default: `BERTH_API_KEY`, or that of the command line's profile. null: none. */
  apiKey?: string | null | undefined;
  /** Admin key, for `berth.admin`. Default: `BERTH_ADMIN_KEY`. */
  adminKey?: string | null | undefined;
  /** Address of the service. Default: `BERTH_URL`, that of the profile, that of the page, or `http://127.0.0.1:8080`. */
  baseUrl?: string | undefined;
  /** Number of further attempts after one that failed for a while. Default: 2. */
  maxRetries?: number | undefined;
  /** Maximum time of an attempt in milliseconds. Default: 60 seconds, or a little longer than the service itself takes at most. */
  timeoutMs?: number | undefined;
  /** Sends requests instead of the runtime's own `fetch`, for example through a proxy. */
  fetch?: typeof fetch | undefined;
  /** Waits between attempts. Default: by a timer. */
  wait?: Wait | undefined;
}

export interface RawRequestOptions extends RequestOptions {
  query?: Record<string, unknown> | undefined;
  /** Sent as JSON. */
  body?: unknown;
  /** How the reply is read. Default: as JSON. */
  as?: 'json' | 'text' | 'response' | undefined;
  /** Whether to send the admin key instead of the API key. */
  asAdmin?: boolean | undefined;
}

interface Sessions extends Omit<CallsSessions, 'create'> {
  /** Starts a browser and returns a handle on its session. `await using` ends it with the block. */
  create(params?: CreateSessionRequest & CreateSessionQuery, options?: RequestOptions): Call<Session>;
}

interface Jobs extends CallsJobs {
  /** Polls until the job has ended, and returns it: `status` says how it ended. */
  wait(job: JobReference, options?: JobWaitOptions): Promise<JobResponse>;
}

interface Shorthands {
  readonly sessions: Sessions;
  readonly jobs: Jobs;
  /** Loads a page and returns it in the requested formats. */
  fetch(url: string | FetchRequest, params?: Omit<FetchRequest, 'url'>, options?: RequestOptions): Call<FetchResponse>;
  /** Reports on a site. */
  inspect(url: string | InspectRequest, params?: Omit<InspectRequest, 'url'>, options?: RequestOptions): Call<InspectResponse>;
  /** Runs a flow by its name. */
  run(
    task: string | AgentRequest,
    inputs?: Record<string, unknown>,
    params?: Omit<AgentRequest, 'task' | 'inputs'>,
    options?: RequestOptions,
  ): Call<AgentResponse>;
  /** A handle on a session that exists, by its id or name. Nothing is sent. */
  session(id: string): Session;
  readonly raw: {
    /** Calls any path of the service, with the keys, retries and errors of all other calls. */
    request<T = unknown>(method: string, path: `/${string}`, options?: RawRequestOptions): Call<T>;
  };
}

/** A client: every operation of the API by its place, and shorthands for what takes more than one call. */
export type Berth = Shorthands & Omit<Calls, keyof Shorthands>;

function createBerth(options: BerthOptions = {}): Berth {
  let settings: ReturnType<typeof readSettings> | undefined;
  const transport = new Transport({
    // Read with the first call, because files are read without blocking.
    settings: () => (settings ??= readSettings(options)),
    // By its name at the call, and not as a method: pages refuse that.
    fetch: options.fetch ?? ((input, init) => fetch(input, init)),
    wait: options.wait ?? waitByTimer,
    maxRetries: options.maxRetries ?? 2,
    timeoutMs: options.timeoutMs,
  });
  const calls = createCalls(transport);
  const shorthands: Shorthands = {
    sessions: {
      ...calls.sessions,
      create: (params, more) => mapCall(calls.sessions.create(params, more), (data) => openSession(transport, data.session_id, data)),
    },
    jobs: { ...calls.jobs, wait: (job, more = {}) => waitForJob(calls.jobs.get, job, more) },
    fetch: (url, params, more) => calls.fetch(typeof url === 'string' ? { url, ...params } : url, more),
    inspect: (url, params, more) => calls.inspect(typeof url === 'string' ? { url, ...params } : url, more),
    run: (task, inputs, params, more) =>
      calls.run(typeof task === 'string' ? { task, ...(inputs ? { inputs } : {}), ...params } : task, more),
    session: (id) => openSession(transport, id, null),
    raw: { request: (method, path, more = {}) => request(transport, { method: method.toUpperCase(), path }, more) },
  };
  return { ...calls, ...shorthands };
}

/** A client of one service: `new Berth({ apiKey, baseUrl })`. */
export const Berth = createBerth as unknown as new (options?: BerthOptions) => Berth;

function request<T>(transport: Transport, { method, path }: { method: string; path: string }, options: RawRequestOptions): Call<T> {
  const { query, body, as, asAdmin = false, ...more } = options;
  return transport.send<T>(() => {
    // Two slashes name a host.
    if (!/^\/(?!\/)/.test(path)) throw new TypeError('A path starts with one slash.');
    return { method, path, query, body, reply: as, isAdmin: asAdmin, takesIdempotencyKey: method === 'POST' };
  }, more);
}

const waitByTimer: Wait = (milliseconds, signal) =>
  new Promise((resolve, reject) => {
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop);
      resolve();
    }, milliseconds);
    if (signal?.aborted) stop();
    else signal?.addEventListener('abort', stop, { once: true });
  });
