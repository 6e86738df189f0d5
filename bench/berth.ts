import type { ChildProcess } from 'node:child_process';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { type CreateSessionRequest, type FetchRequest, type FetchResponse, waitSecondsMax } from '@berth/contract';
import { type Proc, isAlive, pidsOf, treeOf } from './proc.ts';
import type { Stage } from './stage.ts';

export const serviceScript = join(import.meta.dirname, '../scripts/serve.sh');
export const hasBerth = (): boolean => existsSync(serviceScript);

export interface BerthOptions {
  chromium: string;
  poolTarget: number;
  /** `host:port`, comma-separated, that its browsers may reach. */
  allow: string;
  /** Further settings. */
  environment?: Readonly<Record<string, string>>;
}

export type BerthFetchRequest = Partial<FetchRequest> & { url: string };

export type BerthSessionRequest = Partial<Pick<CreateSessionRequest, 'kind' | 'record'>>;

export interface BerthSession {
  session_id: string;
  cdp_url: string;
  warm: boolean;
}

const readyTimeoutMs = 120_000;

/** A running service, started like a user's, and a client of it. */
export class Berth {
  readonly url: string;
  readonly key: string;
  readonly process: ChildProcess;
  readonly dataFolder: string;
  /** Used by this service only. */
  readonly tempFolder: string;
  readonly poolTarget: number;
  readonly #stage: Stage;

  private constructor(
    stage: Stage,
    options: { url: string; process: ChildProcess; dataFolder: string; tempFolder: string; poolTarget: number },
  ) {
    this.#stage = stage;
    this.url = options.url;
    this.process = options.process;
    this.dataFolder = options.dataFolder;
    this.tempFolder = options.tempFolder;
    this.poolTarget = options.poolTarget;
    this.key = readFileSync(join(options.dataFolder, 'api-key'), 'utf8').trim();
  }

  static async start(stage: Stage, options: BerthOptions): Promise<Berth> {
    const dataFolder = join(stage.folder('data'), 'data');
    const tempFolder = stage.folder('temp');
    const child = stage.start('sh', [serviceScript], {
      env: {
        PATH: process.env.PATH,
        HOME: process.env.HOME,
        TMPDIR: tempFolder,
        BERTH_PORT: '0',
        BERTH_DATA_DIR: dataFolder,
        BERTH_CHROMIUM: options.chromium,
        BERTH_EGRESS_ALLOW: options.allow,
        BERTH_POOL_TARGET: String(options.poolTarget),
        BERTH_LOG_LEVEL: 'warn',
        ...options.environment,
      },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    stage.onEnd(() => stopDatabase(dataFolder));
    const url = await waitForAddress(child);
    return new Berth(stage, { url, process: child, dataFolder, tempFolder, poolTarget: options.poolTarget });
  }

  get pid(): number {
    if (this.process.pid === undefined) throw new Error('the service is not running');
    return this.process.pid;
  }

  get authorization(): { authorization: string } {
    return { authorization: `Bearer ${this.key}` };
  }

  get adminKey(): string {
    return readFileSync(join(this.dataFolder, 'admin-key'), 'utf8').trim();
  }

  /** The database's first process, when it is the service's own. */
  get databasePid(): number | null {
    return databasePid(this.dataFolder);
  }

  async create(options: BerthSessionRequest = {}): Promise<BerthSession> {
    return (await this.post('/v1/session', options)) as BerthSession;
  }

  async navigate(sessionId: string, url: string): Promise<void> {
    await this.post(`/v1/session/${sessionId}/navigate`, { url });
  }

  async delete(sessionId: string): Promise<void> {
    const response = await this.#call('DELETE', `/v1/session/${sessionId}`);
    await response.arrayBuffer();
  }

  async read(sessionId: string): Promise<unknown> {
    return (await this.get(`/v1/session/${sessionId}`)).json();
  }

  /** Fetches a page; with `async`, returns the job. */
  async fetch(options: BerthFetchRequest): Promise<FetchResponse> {
    return (await this.post('/v1/fetch', options)) as FetchResponse;
  }

  /** Polls an `async` fetch with the longest wait that the service allows. */
  async poll(jobId: string): Promise<FetchResponse> {
    return (await this.get(`/v1/fetch/job/${jobId}?wait_seconds=${waitSecondsMax}`)).json() as Promise<FetchResponse>;
  }

  /** Waits, at most `timeoutMs`, until the pool has its target of warm machines. */
  async waitForFullPool(timeoutMs = 30_000): Promise<void> {
    const deadline = performance.now() + timeoutMs;
    while (performance.now() < deadline) {
      const health = (await (await fetch(`${this.url}/health`)).json()) as { checks: Record<string, { note: string }> };
      const warm = Number(/(\d+) warm,/.exec(health.checks['machines']?.note ?? '')?.[1]);
      if (warm >= this.poolTarget) return;
      await sleep(100);
    }
  }

  async stop(): Promise<void> {
    await this.#stage.stop(this.process, { graceMs: 20_000 });
    await stopDatabase(this.dataFolder);
    this.#stage.removeFolder(dirname(this.dataFolder));
    this.#stage.removeFolder(this.tempFolder);
  }

  /** Throws when the response is not a success, like `get`. */
  async post(path: string, body: object): Promise<unknown> {
    return (await this.#call('POST', path, { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } })).json();
  }

  get(path: string): Promise<Response> {
    return this.#call('GET', path);
  }

  async #call(method: string, path: string, init: { body?: string; headers?: Record<string, string> } = {}): Promise<Response> {
    const response = await fetch(this.url + path, { ...init, method, headers: { ...init.headers, ...this.authorization } });
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
    return response;
  }
}

/** Returns the address when the service says that it is ready. */
export async function waitForAddress(child: ChildProcess): Promise<string> {
  if (!child.stdout) throw new Error('the service was started without a pipe for its output');
  const timer = setTimeout(() => child.kill('SIGKILL'), readyTimeoutMs);
  try {
    for await (const line of createInterface({ input: child.stdout })) {
      const url = /^Berth is ready: (http\S+)/.exec(line)?.[1];
      if (url) return url.replace(/\/$/, '');
    }
    throw new Error('the service exited or timed out before it was ready');
  } finally {
    clearTimeout(timer);
    child.stdout.resume();
  }
}

function databasePid(dataFolder: string): number | null {
  const [file] = globSync('**/postmaster.pid', { cwd: dataFolder });
  const pid = file ? Number.parseInt(readFileSync(join(dataFolder, file), 'utf8'), 10) : Number.NaN;
  return Number.isInteger(pid) && isAlive(pid) ? pid : null;
}

/** The database outlives a killed service. SIGINT is its fast shutdown. */
async function stopDatabase(dataFolder: string): Promise<void> {
  const pid = databasePid(dataFolder);
  if (pid === null) return;
  process.kill(pid, 'SIGINT');
  for (let attempts = 0; attempts < 100 && isAlive(pid); attempts += 1) await sleep(50);
}

/** The processes of machines and encoders: all below the worker except the database's. */
export function machineProcs(berth: Berth): Proc[] {
  const database = new Set(berth.databasePid === null ? [] : pidsOf(berth.databasePid));
  return treeOf(berth.pid).filter(({ pid }) => pid !== berth.pid && !database.has(pid));
}
