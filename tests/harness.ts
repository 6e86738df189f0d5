/** The test service of the API tests: in this process, with its own store and simulated machines. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  ErrorBody,
  ValidationBody,
  createSession,
  errors,
  errorsOf,
  type BodyOf,
  type Endpoint,
  type ErrorCode,
  type ReplyOf,
} from '@berth/contract';
import { buildApp, type App, type AppDeps } from '../packages/server/src/app.ts';
import { readConfig } from '../packages/server/src/config.ts';
import { systemClock, type Clock } from '../packages/server/src/lib/clock.ts';
import { silentLog, type Log } from '../packages/server/src/lib/log.ts';
import { createFakeRuntime, type FakeRuntime } from '../packages/server/src/runtime/fake/fake.ts';
import { openStore } from '../packages/server/src/store/store.ts';
import { testStore, type TestStore } from '../packages/server/src/store/test-store.ts';
import { assertInDocument } from './declared-replies.ts';
import type { Issuer } from './issuer.ts';

export const adminKey = 'test-admin-key-0123456789abcdef0123456789';

export interface Request<E extends Endpoint> {
  params?: Record<string, string>;
  query?: Record<string, string>;
  body?: E extends Endpoint ? Partial<BodyOf<E>> | Record<string, unknown> : never;
  /** Sent unchanged instead of `body`. */
  rawBody?: string;
  headers?: Record<string, string>;
  /** An API key or a login token; null sends no credential. The default is the owner `local`'s, or the admin key. */
  key?: string | null;
  signal?: AbortSignal;
}

export interface Reply<T = unknown> {
  status: number;
  headers: Headers;
  body: T;
  text: string;
}

export interface TestApp {
  app: App;
  runtime: FakeRuntime;
  url: string;
  dataDir: string;
  /** For a second connection to the same database. */
  databaseUrl: string;
  /** The key of the owner `local`. */
  key: string;
  /** Calls an endpoint and checks that the contract declares the reply. */
  call<E extends Endpoint>(endpoint: E, request?: Request<E>): Promise<Reply<ReplyOf<E>>>;
  /** Expects this error. */
  refuse<E extends Endpoint>(
    endpoint: E,
    code: ErrorCode,
    request?: Request<E>,
  ): Promise<{ reply: Reply; details: Record<string, unknown>; message: string }>;
  /** Expects 422 and returns its issues. */
  issues<E extends Endpoint>(endpoint: E, request?: Request<E>): Promise<ValidationBody['detail']>;
  /** Creates a session and returns it when it is ready. */
  create(
    body?: Record<string, unknown>,
    request?: Pick<Request<Endpoint>, 'key' | 'query' | 'headers'>,
  ): Promise<ReplyOf<typeof createSession>>;
  /** Creates a key of another owner. */
  ownerKey(owner: string, tier?: string): Promise<string>;
  /** Creates a login token of an organisation; the default is `local`. */
  login(organisation?: string, subject?: string): Promise<string>;
  close(): Promise<void>;
}

export interface AppOptions {
  environment?: Record<string, string>;
  /** The identity provider. Without one the service uses its development sign-in. */
  issuer?: Issuer;
  clock?: Clock;
  log?: Log;
  /** Reports the host's free resources; unlimited by default. */
  hostReader?: HostReader;
  /** State of a previous app: starting on it is a restart. */
  previous?: { dataDir: string; databaseUrl: string; runtime: FakeRuntime };
}

export type HostReader = NonNullable<AppDeps['hostReader']>;

/** The load of the test machine must not affect the service. */
const idleHost: HostReader = () => ({ memoryAvailableBytes: null, memoryStallPercent: 0, cpuStallPercent: 0 });

/** Starts the service. The caller closes it. */
export async function startApp({
  environment = {},
  issuer,
  clock = systemClock,
  log = silentLog,
  hostReader = idleHost,
  previous,
}: AppOptions = {}): Promise<TestApp> {
  const dataDir = previous?.dataDir ?? mkdtempSync(join(tmpdir(), 'berth-api-'));
  const { store, url: databaseUrl, drop } = await openTestStore(previous);
  const runtime = previous?.runtime ?? createFakeRuntime();
  const config = readConfig({
    BERTH_PORT: '0',
    BERTH_DATA_DIR: dataDir,
    BERTH_POOL_TARGET: '0',
    BERTH_DRAIN_SECONDS: '1',
    BERTH_MAX_SESSIONS: '500',
    ...(issuer?.environment ?? (isReached(environment) ? {} : { BERTH_DEV_IDP: 'true' })),
    ...environment,
  });
  const app = await buildApp({ config, store, clock, log, adminKey, runtime: () => Promise.resolve(runtime), encoders: null, hostReader });
  const { secret: key } = await app.keys.bootstrap({ file: join(dataDir, 'api-key'), configured: null });
  const url = await app.listen();
  const login = async (organisation = 'local', subject = 'ada@example.com'): Promise<string> => {
    if (issuer) return issuer.token({ org_id: organisation, sub: subject });
    const { devIssuer } = app.accounts;
    assert.ok(devIssuer, 'sign-in is disabled: start the service with an issuer');
    return (await devIssuer.issue({ email: subject, organisation }, url)).token;
  };
  const client = new Client(url, key, adminKey, login);
  return {
    app,
    runtime,
    url,
    dataDir,
    databaseUrl,
    key,
    call: (endpoint, request) => client.call(endpoint, request),
    refuse: (endpoint, code, request) => client.refuse(endpoint, code, request),
    issues: (endpoint, request) => client.issues(endpoint, request),
    create: async (body = {}, request = {}) => {
      const reply = await client.call(createSession, { ...request, body });
      assert.equal(reply.status, 201, reply.text);
      return reply.body;
    },
    ownerKey: async (owner, tier) =>
      (await app.keys.create({ owner, name: null, tier, expiresInDays: null, createdBy: 'test', actor: 'operator' })).raw,
    login,
    close: async () => {
      await app.stop();
      await drop();
      if (!previous) rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

/** Whether the configuration makes the service reachable by others, which disables the development sign-in. */
const isReached = (environment: Record<string, string>): boolean =>
  ['BERTH_OIDC_ISSUER', 'BERTH_HOST', 'BERTH_PUBLIC_URL', 'BERTH_TRUSTED_PROXIES'].some((name) => environment[name] !== undefined);

async function openTestStore(previous: AppOptions['previous']): Promise<Pick<TestStore, 'store' | 'url' | 'drop'>> {
  if (!previous) return testStore();
  const { databaseUrl, dataDir } = previous;
  const store = await openStore({ databaseUrl, dataDir, log: silentLog });
  return { store, url: databaseUrl, drop: () => store.close() };
}

export class Client {
  readonly #url: string;
  readonly #key: string;
  readonly #adminKey: string;
  readonly #login: () => Promise<string>;

  /** `login` creates a token for each call that requires one. */
  constructor(url: string, key: string, operator = adminKey, login: () => Promise<string> = () => assert.fail('this client has no login')) {
    this.#url = url;
    this.#key = key;
    this.#adminKey = operator;
    this.#login = login;
  }

  async call<E extends Endpoint>(endpoint: E, request: Request<E> = {}): Promise<Reply<ReplyOf<E>>> {
    return (await this.send(endpoint, request)) as Reply<ReplyOf<E>>;
  }

  async refuse<E extends Endpoint>(
    endpoint: E,
    code: ErrorCode,
    request: Request<E> = {},
  ): Promise<{ reply: Reply; details: Record<string, unknown>; message: string }> {
    const reply = await this.call(endpoint, request);
    assert.equal(reply.status, errors[code].status, `${endpoint.method} ${endpoint.path} answered ${reply.status}: ${reply.text}`);
    const { error } = ErrorBody.parse(reply.body);
    assert.equal(error.code, code);
    return { reply, details: error.details, message: error.message };
  }

  async issues<E extends Endpoint>(endpoint: E, request: Request<E> = {}): Promise<ValidationBody['detail']> {
    const reply = await this.call(endpoint, request);
    assert.equal(reply.status, 422, reply.text);
    return ValidationBody.parse(reply.body).detail;
  }

  async send(endpoint: Endpoint, request: Request<Endpoint> = {}): Promise<Reply> {
    const { method } = endpoint;
    const sent = request.rawBody ?? (request.body === undefined ? undefined : JSON.stringify(request.body));
    const headers = {
      ...(await this.#credential(endpoint, request.key)),
      ...(sent === undefined ? {} : { 'content-type': 'application/json' }),
      ...request.headers,
    };
    const response = await fetch(this.#url + pathOf(endpoint, request), {
      method,
      headers,
      ...(sent === undefined ? {} : { body: sent }),
      ...(request.signal ? { signal: request.signal } : {}),
    });
    const text = await response.text();
    const type = response.headers.get('content-type') ?? '';
    const body: unknown = type.startsWith('application/json') ? JSON.parse(text) : type.startsWith('text/plain') ? text : undefined;
    const reply = { status: response.status, headers: response.headers, text, body };
    assertDeclared(endpoint, reply);
    return reply;
  }

  async #credential({ auth }: Endpoint, key: string | null | undefined): Promise<Record<string, string>> {
    if (key === null || auth === 'none') return {};
    if (auth === 'admin' || auth === 'metrics') return { 'x-admin-key': this.#adminKey };
    return { authorization: `Bearer ${key ?? (auth === 'login' ? await this.#login() : this.#key)}` };
  }
}

export function pathOf(endpoint: Endpoint, { params = {}, query = {} }: Pick<Request<Endpoint>, 'params' | 'query'>): string {
  const path = endpoint.path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name] ?? `no-${name}`));
  const search = new URLSearchParams(query).toString();
  return search ? `${path}?${search}` : path;
}

/** Every reply must be declared by the contract and by the document that is made from it. */
export function assertDeclared(endpoint: Endpoint, reply: Reply): void {
  assertInDocument(endpoint, reply);
  const isJson = reply.headers.get('content-type')?.startsWith('application/json') === true;
  // Files are sent as they are.
  if (isJson && !(endpoint.replyKind === 'bytes' && reply.status < 300)) assert.match(reply.text, /\n$/);
  const where = `${endpoint.method} ${endpoint.path} answered ${reply.status}: ${reply.text.slice(0, 2000)}`;
  if (reply.status === endpoint.status || endpoint.alsoStatus?.includes(reply.status)) {
    // Parsing drops undeclared fields, so the result must equal the body.
    const body = endpoint.replyKind === 'html' ? reply.text : reply.body;
    if (endpoint.reply) assert.deepEqual(endpoint.reply.parse(body), body, where);
    else if (endpoint.replyKind === 'empty') assert.equal(reply.text, '', where);
    return;
  }
  if (reply.status === 422) {
    ValidationBody.parse(reply.body);
    assert.deepEqual([reply.headers.get('x-should-retry'), reply.headers.get('retry-after')], ['false', null], where);
    return;
  }
  // People who open links in a browser get a page.
  if (reply.headers.get('content-type')?.startsWith('text/html')) return;
  const { error } = ErrorBody.parse(reply.body, { error: () => where });
  assert.equal(reply.headers.get('x-should-retry'), String(error.retryable), where);
  assert.ok(error.retryable || reply.headers.get('retry-after') === null, where);
  assert.ok(errorsOf(endpoint).includes(error.code), `undeclared: ${where}`);
  assert.equal(errors[error.code].status, reply.status, where);
}

/** Polls a condition. Fails with `what` when it does not hold in time. */
export async function eventually(what: string, holds: () => boolean | Promise<boolean>, withinMs = 20_000): Promise<void> {
  for (const start = performance.now(); !(await holds()); await sleep(5))
    assert.ok(performance.now() - start < withinMs, `not within ${withinMs} ms: ${what}`);
}

/** A reply as comparable bytes, without the parts that differ between requests. */
export const comparable = ({ status, headers, text }: Reply): string => {
  const compared = [...headers].filter(
    ([name]) => !['date', 'x-request-id', 'ratelimit', 'x-ratelimit-remaining', 'x-ratelimit-reset'].includes(name),
  );
  return JSON.stringify([status, compared, text.replace(/"request_id":"[^"]*"/, '')]);
};

/** The id of a fetch that is a job. */
export const jobIdOf = ({ job_id }: { job_id: string | null }): string => job_id ?? assert.fail('the fetch is no job');
