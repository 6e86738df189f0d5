/** One service in this process, on a store of its own, with machines that are simulated: what every API test stands on. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import {
  ErrorBody,
  ValidationBody,
  createSession,
  errors,
  errorsOf,
  validates,
  type BodyOf,
  type Endpoint,
  type ErrorCode,
  type ReplyOf,
} from '@berth/contract';
import { buildApp, type App, type AppParts } from '../packages/server/src/app.ts';
import { readConfig } from '../packages/server/src/config.ts';
import { systemClock, type Clock } from '../packages/server/src/lib/clock.ts';
import { silentLog, type Log } from '../packages/server/src/lib/log.ts';
import { createFakeRuntime, type FakeRuntime } from '../packages/server/src/runtime/fake/fake.ts';
import { openStore } from '../packages/server/src/store/store.ts';
import { testStore, type TestStore } from '../packages/server/src/store/test-store.ts';
import type { Issuer } from './issuer.ts';

export const adminKey = 'test-admin-key-0123456789abcdef0123456789';

export interface Request<E extends Endpoint> {
  params?: Record<string, string>;
  query?: Record<string, string>;
  body?: E extends Endpoint ? Partial<BodyOf<E>> | Record<string, unknown> : never;
  /** Sent as it is, instead of `body`. */
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
  /** Calls an endpoint and checks that the reply is one that the contract declares. */
  call<E extends Endpoint>(endpoint: E, request?: Request<E>): Promise<Reply<ReplyOf<E>>>;
  /** Expects this error, in the one error form. */
  refuse<E extends Endpoint>(
    endpoint: E,
    code: ErrorCode,
    request?: Request<E>,
  ): Promise<{ reply: Reply; details: Record<string, unknown>; message: string }>;
  /** Expects 422 and gives its faults. */
  faults<E extends Endpoint>(endpoint: E, request?: Request<E>): Promise<ValidationBody['detail']>;
  /** Starts a session and gives it, ready. */
  create(
    body?: Record<string, unknown>,
    request?: Pick<Request<Endpoint>, 'key' | 'query' | 'headers'>,
  ): Promise<ReplyOf<typeof createSession>>;
  /** A key of an owner of its own. */
  ownerKey(owner: string, tier?: string): Promise<string>;
  /** A login token of somebody of an organisation; without one, of the owner `local`. */
  login(organisation?: string, subject?: string): Promise<string>;
  close(): Promise<void>;
}

export interface AppOptions {
  environment?: Record<string, string>;
  /** Who signs people in. Without one the service does it itself, as on a developer's machine. */
  issuer?: Issuer;
  clock?: Clock;
  log?: Log;
  /** What the host has left: plenty, where nothing else is said. */
  hostReader?: HostReader;
  /** What an earlier app left on this host: a second one that is started on it is its restart. */
  remains?: { dataDir: string; databaseUrl: string; runtime: FakeRuntime };
}

export type HostReader = NonNullable<AppParts['hostReader']>;

/** A busy machine that runs the tests must not decide what a service does. */
const calm: HostReader = () => ({ memoryAvailableBytes: null, memoryStallPercent: 0, cpuStallPercent: 0 });

/** Starts the service. The caller closes it. */
export async function startApp({
  environment = {},
  issuer,
  clock = systemClock,
  log = silentLog,
  hostReader = calm,
  remains,
}: AppOptions = {}): Promise<TestApp> {
  const dataDir = remains?.dataDir ?? mkdtempSync(join(tmpdir(), 'berth-api-'));
  const { store, url: databaseUrl, drop } = await openTestStore(remains);
  const runtime = remains?.runtime ?? createFakeRuntime();
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
  const { secret: key } = await app.keys.bootstrap({ file: join(dataDir, 'api-key'), given: null });
  const url = await app.listen();
  const login = async (organisation = 'local', subject = 'ada@example.com'): Promise<string> => {
    if (issuer) return issuer.token({ org_id: organisation, sub: subject });
    const { devIssuer } = app.accounts;
    assert.ok(devIssuer, 'nobody signs in here: start the service with an issuer');
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
    faults: (endpoint, request) => client.faults(endpoint, request),
    create: async (body = {}, request = {}) => {
      const reply = await client.call(createSession, { ...request, body });
      assert.equal(reply.status, 201, reply.text);
      return reply.body;
    },
    ownerKey: async (owner, tier) =>
      (await app.keys.mint({ owner, name: null, tier, expiresInDays: null, createdBy: 'test', actor: 'operator' })).raw,
    login,
    close: async () => {
      await app.stop();
      await drop();
      if (!remains) rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

/** Whether others may reach the service, as far as it is told: then it signs in nobody itself. */
const isReached = (environment: Record<string, string>): boolean =>
  ['BERTH_OIDC_ISSUER', 'BERTH_HOST', 'BERTH_PUBLIC_URL', 'BERTH_TRUSTED_PROXIES'].some((name) => environment[name] !== undefined);

async function openTestStore(remains: AppOptions['remains']): Promise<Pick<TestStore, 'store' | 'url' | 'drop'>> {
  if (!remains) return testStore();
  const { databaseUrl, dataDir } = remains;
  const store = await openStore({ databaseUrl, dataDir, log: silentLog });
  return { store, url: databaseUrl, drop: () => store.close() };
}

export class Client {
  readonly #url: string;
  readonly #key: string;
  readonly #adminKey: string;
  readonly #login: () => Promise<string>;

  /** `login` gives a token for each call that takes one. */
  constructor(
    url: string,
    key: string,
    operator = adminKey,
    login: () => Promise<string> = () => assert.fail('this client has nobody to sign in'),
  ) {
    this.#url = url;
    this.#key = key;
    this.#adminKey = operator;
    this.#login = login;
  }

  async call<E extends Endpoint>(endpoint: E, request: Request<E> = {}): Promise<Reply<ReplyOf<E>>> {
    const reply = await this.send(endpoint, request);
    assertDeclared(endpoint, reply);
    return reply as Reply<ReplyOf<E>>;
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

  async faults<E extends Endpoint>(endpoint: E, request: Request<E> = {}): Promise<ValidationBody['detail']> {
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
    return { status: response.status, headers: response.headers, text, body };
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

/** An answer that the contract does not declare is a fault of the service, whatever the test is about. */
function assertDeclared(endpoint: Endpoint, reply: Reply): void {
  const where = `${endpoint.method} ${endpoint.path} answered ${reply.status}: ${reply.text.slice(0, 2000)}`;
  if (reply.status === endpoint.status || endpoint.alsoStatus?.includes(reply.status)) {
    // Parsing drops fields that are not declared: what comes back must be all that was sent.
    if (endpoint.reply) assert.deepEqual(endpoint.reply.parse(reply.body), reply.body, where);
    else if (endpoint.replyKind === 'empty') assert.equal(reply.text, '', where);
    return;
  }
  if (reply.status === 422) {
    assert.ok(validates(endpoint) || endpoint.method === 'POST', where);
    ValidationBody.parse(reply.body);
    return;
  }
  const { error } = ErrorBody.parse(reply.body, { error: () => where });
  assert.ok(errorsOf(endpoint).includes(error.code), `undeclared: ${where}`);
  assert.equal(errors[error.code].status, reply.status, where);
}

/** Polls a fact that nothing announces. Fails by name when it does not come true in time. */
export async function eventually(what: string, holds: () => boolean | Promise<boolean>, withinMs = 5000): Promise<void> {
  for (const start = performance.now(); !(await holds()); await wait(5))
    assert.ok(performance.now() - start < withinMs, `not within ${withinMs} ms: ${what}`);
}

/** An answer as bytes that a caller could compare: without what differs for each request. */
export const comparable = ({ status, headers, text }: Reply): string => {
  const kept = [...headers].filter(
    ([name]) => !['date', 'x-request-id', 'ratelimit', 'x-ratelimit-remaining', 'x-ratelimit-reset'].includes(name),
  );
  return JSON.stringify([status, kept, text.replace(/"request_id":"[^"]*"/, '')]);
};
