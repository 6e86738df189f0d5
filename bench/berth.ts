import type { ChildProcess } from 'node:child_process';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as wait } from 'node:timers/promises';
import { type CreateSessionRequest, type FetchRequest, type FetchResponse, waitSecondsMax } from '@berth/contract';
import { isAlive } from './proc.ts';
import type { Stage } from './stage.ts';

const entry = join(import.meta.dirname, '../scripts/serve.sh');
export const isBerthThere = (): boolean => existsSync(entry);

export interface BerthOrder {
  chromium: string;
  poolTarget: number;
  /** `host:port`, comma-separated, that its browsers may reach. */
  allow: string;
  /** Settings beside those. */
  environment?: Readonly<Record<string, string>>;
}

export type FetchOrder = Partial<FetchRequest> & { url: string };

export type SessionOrder = Partial<Pick<CreateSessionRequest, 'kind' | 'record'>>;

export interface BerthSession {
  session_id: string;
  cdp_url: string;
  warm: boolean;
}

const readyMsMax = 120_000;

/** A running service, started by the same command as a user's, and a client of it. */
export class Berth {
  readonly url: string;
  readonly key: string;
  readonly process: ChildProcess;
  readonly dataFolder: string;
  /** Where the service puts temporary files: nobody else writes here. */
  readonly tempFolder: string;
  readonly poolTarget: number;
  readonly #stage: Stage;

  private constructor(
    stage: Stage,
    parts: { url: string; process: ChildProcess; dataFolder: string; tempFolder: string; poolTarget: number },
  ) {
    this.#stage = stage;
    this.url = parts.url;
    this.process = parts.process;
    this.dataFolder = parts.dataFolder;
    this.tempFolder = parts.tempFolder;
    this.poolTarget = parts.poolTarget;
    this.key = readFileSync(join(parts.dataFolder, 'api-key'), 'utf8').trim();
  }

  static async start(stage: Stage, order: BerthOrder): Promise<Berth> {
    const dataFolder = join(stage.folder('data'), 'data');
    const tempFolder = stage.folder('temp');
    const child = stage.start('sh', [entry], {
      env: {
        PATH: process.env.PATH,
        HOME: process.env.HOME,
        TMPDIR: tempFolder,
        BERTH_PORT: '0',
        BERTH_DATA_DIR: dataFolder,
        BERTH_CHROMIUM: order.chromium,
        BERTH_EGRESS_ALLOW: order.allow,
        BERTH_POOL_TARGET: String(order.poolTarget),
        BERTH_LOG_LEVEL: 'warn',
        ...order.environment,
      },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    stage.onEnd(() => stopDatabase(dataFolder));
    const url = await readyAddress(child);
    return new Berth(stage, { url, process: child, dataFolder, tempFolder, poolTarget: order.poolTarget });
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

  async create(order: SessionOrder = {}): Promise<BerthSession> {
    return (await this.post('/v1/session', order)) as BerthSession;
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

  /** What the service makes of a page; with `async`, what it says while it does. */
  async fetch(order: FetchOrder): Promise<FetchResponse> {
    return (await this.post('/v1/fetch', order)) as FetchResponse;
  }

  /** Asks after a fetch that was ordered with `async`, and waits for it as long as the service lets one wait. */
  async poll(jobId: string): Promise<FetchResponse> {
    return (await this.get(`/v1/fetch/job/${jobId}?wait_seconds=${waitSecondsMax}`)).json() as Promise<FetchResponse>;
  }

  /** Waits, at most `waitMsMax`, until the service says that as many machines are warm as it was asked for. */
  async poolFull(waitMsMax = 30_000): Promise<void> {
    const deadline = performance.now() + waitMsMax;
    while (performance.now() < deadline) {
      const health = (await (await fetch(`${this.url}/health`)).json()) as { checks: Record<string, { note: string }> };
      const warm = Number(/(\d+) warm,/.exec(health.checks['machines']?.note ?? '')?.[1]);
      if (warm >= this.poolTarget) return;
      await wait(100);
    }
  }

  async stop(): Promise<void> {
    await this.#stage.stop(this.process, { graceMs: 20_000 });
    await stopDatabase(this.dataFolder);
    this.#stage.removeFolder(dirname(this.dataFolder));
    this.#stage.removeFolder(this.tempFolder);
  }

  /** Throws for an answer that is not a success, as `get` does. */
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

async function readyAddress(child: ChildProcess): Promise<string> {
  if (!child.stdout) throw new Error('the service was started without a pipe for its output');
  const timer = setTimeout(() => child.kill('SIGKILL'), readyMsMax);
  try {
    for await (const line of createInterface({ input: child.stdout })) {
      const url = /^Berth is ready: (http\S+)/.exec(line)?.[1];
      if (url) return url.replace(/\/$/, '');
    }
    throw new Error('the service ended, or stayed silent, before it was ready');
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

/** A database outlives a service that was killed; SIGINT is its fast shutdown. */
async function stopDatabase(dataFolder: string): Promise<void> {
  const pid = databasePid(dataFolder);
  if (pid === null) return;
  process.kill(pid, 'SIGINT');
  for (let tries = 0; tries < 100 && isAlive(pid); tries += 1) await wait(50);
}
