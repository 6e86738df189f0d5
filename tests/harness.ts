/** The test service of the API tests: in this process, with its own store and simulated machines. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSession, type Endpoint, type ErrorCode, type ReplyOf, type ValidationBody } from '@berth/contract';
import { buildApp, type App, type AppDeps } from '../packages/server/src/boot/app.ts';

import { readConfig } from '../packages/server/src/config.ts';
import type { BoundPort } from '../packages/server/src/http/server/port.ts';
import { systemClock, type Clock } from '@berth/lib/clock.ts';
import type { Loop } from '@berth/lib/loop.ts';
import { silentLog, type Log } from '@berth/lib/log.ts';
import { createFakeRuntime, type FakeRuntime } from '@berth/machines/testing/fake/fake.ts';
import { openStore } from '../packages/server/src/store/store.ts';
import { testStore, type TestStore } from '../packages/server/testing/test-store.ts';
import { Client, adminKey, type Reply, type Request } from './client.ts';
import type { Issuer } from './services/issuer.ts';
import { assertPrompt } from './yardstick.ts';

export { Client, adminKey, assertDeclared, comparable, pathOf, type Reply, type Request } from './client.ts';

export interface TestApp {
  app: App;
  runtime: FakeRuntime;
  url: string;
  dataDir: string;
  /** Address for a second connection to the same database. */
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
  /** Starts one more worker on the database of another app, with a data directory of its own and the same first API key. */
  beside?: Pick<TestApp, 'databaseUrl' | 'key'>;
  /** It is one of several workers on its database. */
  isInFleet?: boolean;
  /** Bound by the caller; a free one by default. */
  port?: BoundPort;
}

export type HostReader = NonNullable<AppDeps['hostReader']>;

/** The load of the test machine must not affect the service. */
const idleHost: HostReader = () => ({ memoryAvailableBytes: null, memoryStallPercent: 0, cpuStallPercent: 0 });

/** Starts the service. The caller closes it. */
export async function startApp(options: AppOptions = {}): Promise<TestApp> {
  const { previous, beside } = options;
  const dataDir = previous?.dataDir ?? mkdtempSync(join(tmpdir(), 'berth-api-'));
  if (beside) writeFileSync(join(dataDir, 'api-key'), beside.key, { mode: 0o600 });
  const opened = await openTestStore(dataDir, options);
  const clean = async (): Promise<void> => {
    await opened.drop();
    if (!previous) rmSync(dataDir, { recursive: true, force: true });
  };
  try {
    return await startAppOn(dataDir, opened, clean, options);
  } catch (error) {
    await clean();
    throw error;
  }
}

async function startAppOn(
  dataDir: string,
  { store, url: databaseUrl }: Pick<TestStore, 'store' | 'url'>,
  clean: () => Promise<void>,
  { environment = {}, issuer, clock = systemClock, log = silentLog, hostReader = idleHost, previous, isInFleet = false, port }: AppOptions,
): Promise<TestApp> {
  const runtime = previous?.runtime ?? createFakeRuntime();
  const config = readConfig({
    BERTH_PORT: '0',
    BERTH_DATA_DIR: dataDir,
    BERTH_POOL_TARGET: '0',
    BERTH_DRAIN_SECONDS: '1',
    BERTH_MAX_SESSIONS: '500',
    ...(isInFleet ? { BERTH_DATABASE_URL: databaseUrl, BERTH_FLEET_LISTEN: '127.0.0.1:0' } : {}),
    ...(issuer?.environment ?? (isReached(environment) ? {} : { BERTH_DEV_IDP: 'true' })),
    ...environment,
  });
  const deps = { config, store, clock, log, adminKey, encoders: null, hostReader, ...(port ? { port } : {}) };
  const app = await buildApp({ ...deps, runtime: () => Promise.resolve(runtime) });
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
      await clean();
    },
  };
}

/** What the work returns when no iteration of the loop has run meanwhile; until then it is repeated. */
export async function betweenTurns<T>(loop: Loop, work: () => Promise<T>): Promise<T> {
  for (;;) {
    await loop.idle();
    const { turns } = loop.status;
    const result = await work();
    if (loop.status.turns === turns) return result;
  }
}

/** Whether the configuration makes the service reachable by others, which disables the development sign-in. */
const isReached = (environment: Record<string, string>): boolean =>
  ['BERTH_OIDC_ISSUER', 'BERTH_HOST', 'BERTH_PUBLIC_URL', 'BERTH_TRUSTED_PROXIES'].some((name) => environment[name] !== undefined);

async function openTestStore(dataDir: string, { previous, beside }: AppOptions): Promise<Pick<TestStore, 'store' | 'url' | 'drop'>> {
  const databaseUrl = previous?.databaseUrl ?? beside?.databaseUrl;
  if (databaseUrl === undefined) return testStore();
  const store = await openStore({ databaseUrl, dataDir, log: silentLog });
  return { store, url: databaseUrl, drop: () => store.close() };
}

export { eventually } from '@berth/lib/testing/eventually.ts';

/** Checks that nothing waited for a timeout. What happens at once takes seconds on a busy machine. */
export const assertSoon = (startMs: number, withinMs = 15_000): void => assertPrompt(startMs, withinMs);

/** The id of a fetch that is a job. */
export const jobIdOf = ({ job_id }: { job_id: string | null }): string => job_id ?? assert.fail('the fetch is no job');
