/**
 * Three workers, each a process of its own, are restarted one after another while clients work through a proxy and repeat nothing: only
 * sessions whose own worker stops are lost, and those end as `drained`.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createKey } from '@berth/contract';
import { z } from 'zod';
import { testStore, type TestStore } from '../../packages/server/testing/test-store.ts';
import { adminKey, Client } from '../client.ts';
import { eventually } from '../harness.ts';
import { FleetProcess } from './fleet-process.ts';

const workersCount = 3;
const clientsCount = 3;
const checkMs = 200;

interface Reply {
  status: number;
  body: Record<string, unknown>;
  worker: string;
}

/** Does what deploy/haproxy does: asks for /health, and sends again only what no worker has received. */
class Proxy {
  readonly #workers: readonly FleetProcess[];
  readonly #key: string;
  readonly #agent = new Agent({ keepAlive: false });
  readonly #healthy = new Set<FleetProcess>();
  #turn = 0;
  #isClosed = false;
  readonly #checks: Promise<void>[];

  constructor(workers: readonly FleetProcess[], key: string) {
    this.#workers = workers;
    this.#key = key;
    this.#checks = workers.map((worker) => this.#watch(worker));
  }

  isHealthy(worker: FleetProcess): boolean {
    return this.#healthy.has(worker);
  }

  async send(method: string, path: string, body?: object): Promise<Reply> {
    for (;;) {
      const up = this.#workers.filter((worker) => this.#healthy.has(worker));
      const worker = up[(this.#turn += 1) % up.length] ?? assert.fail('no worker is healthy');
      try {
        return await this.#request(worker, method, path, body);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ECONNREFUSED') throw error;
        this.#healthy.delete(worker);
      }
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all(this.#checks);
    this.#agent.destroy();
  }

  async #watch(worker: FleetProcess): Promise<void> {
    for (; !this.#isClosed; await sleep(checkMs)) {
      const status = await this.#request(worker, 'GET', '/health').then(
        (reply) => reply.status,
        () => 0,
      );
      if (status === 200) this.#healthy.add(worker);
      else this.#healthy.delete(worker);
    }
  }

  #request(worker: FleetProcess, method: string, path: string, body?: object): Promise<Reply> {
    return new Promise((resolve, reject) => {
      const headers = { authorization: `Bearer ${this.#key}`, ...(body ? { 'content-type': 'application/json' } : {}) };
      const sent = request(new URL(path, worker.url), { method, agent: this.#agent, headers, timeout: 60_000 }, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString();
          resolve({
            status: response.statusCode ?? 0,
            body: (text.startsWith('{') ? JSON.parse(text) : {}) as Record<string, unknown>,
            worker: String(response.headers['x-berth-worker']),
          });
        });
      });
      sent.on('timeout', () => sent.destroy(new Error(`${method} ${path} was not answered`)));
      sent.on('error', reject);
      sent.end(body ? JSON.stringify(body) : undefined);
    });
  }
}

/** What clients do until they are stopped, and what they may not see. */
class Load {
  readonly failures: string[] = [];
  readonly created: { sessionId: string; worker: string }[] = [];
  requests = 0;
  /** How often each worker has stopped or is to stop, by its id. */
  readonly #stops = new Map<string, number>();
  #stopping: string | null = null;
  readonly #proxy: Proxy;
  #isOver = false;
  readonly #clients: Promise<void>[];

  constructor(proxy: Proxy) {
    this.#proxy = proxy;
    this.#clients = Array.from({ length: clientsCount }, () => this.#work());
  }

  async end(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#clients);
  }

  onStopping(workerId: string): void {
    this.#stops.set(workerId, this.stopsOf(workerId) + 1);
    this.#stopping = workerId;
  }

  onStarted(): void {
    this.#stopping = null;
  }

  stopsOf(workerId: string): number {
    return this.#stops.get(workerId) ?? 0;
  }

  /** `isLost`: whether the worker of the session that the request concerns has stopped. */
  async #send(
    method: string,
    path: string,
    { body, isLost = () => false }: { body?: object; isLost?: () => boolean } = {},
  ): Promise<Reply | null> {
    this.requests += 1;
    const reply = await this.#once(method, path, body);
    if (typeof reply !== 'string' && reply.status < 400) return reply;
    if (isLost()) return null;
    this.failures.push(`${method} ${path}: ${typeof reply === 'string' ? reply : `${reply.status} ${JSON.stringify(reply.body)}`}`);
    return null;
  }

  #once(method: string, path: string, body?: object): Promise<Reply | string> {
    return this.#proxy.send(method, path, body).catch((error: unknown) => String(error));
  }

  async #work(): Promise<void> {
    while (!this.#isOver) {
      const [before, stopping] = [new Map(this.#stops), this.#stopping];
      const session = await this.#send('POST', '/v1/session', { body: {} });
      await this.#send('GET', '/v1/sessions?limit=2');
      const sessionId = String(session?.body['session_id']);
      if (session) {
        const { worker } = session;
        this.created.push({ sessionId, worker });
        const isLost = (): boolean => worker === stopping || this.stopsOf(worker) > (before.get(worker) ?? 0);
        await this.#send('POST', `/v1/session/${sessionId}/navigate`, { body: { url: 'http://site.test/' }, isLost });
        await this.#send('GET', `/v1/session/${sessionId}/content?format=text`, { isLost });
        await this.#send('DELETE', `/v1/session/${sessionId}`, { isLost });
      }
      await this.#send('GET', '/v1/usage');
      await sleep(50);
    }
  }
}

describe('a rolling restart of three workers', () => {
  let store: TestStore;
  let folder = '';
  const workers: FleetProcess[] = [];
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'berth-rolling-'));
    store = await testStore();
    const environment = {
      BERTH_PORT: '0',
      BERTH_POOL_TARGET: '0',
      BERTH_DRAIN_SECONDS: '3',
      BERTH_MAX_SESSIONS: '100',
      BERTH_DEV_IDP: 'true',
    };
    for (let index = 0; index < workersCount; index += 1) {
      const options = { index, folder, environment, adminKey, databaseUrl: store.url, onReport: () => undefined, isReliable: true };
      workers.push(await FleetProcess.open({ ...options, log: () => undefined }));
    }
    await Promise.all(workers.map((worker) => worker.start()));
  });
  after(async () => {
    await Promise.all(workers.map((worker) => worker.close()));
    await store.drop();
    rmSync(folder, { recursive: true });
  });

  it('a rolling restart of three workers fails no request but those of sessions whose own worker stops, which end as drained', async () => {
    const [first] = workers;
    const { body } = await new Client(first?.url ?? '', '', adminKey).call(createKey, { body: { owner: 'local', name: 'rolling' } });
    const { key } = body;
    const proxy = new Proxy(workers, key ?? assert.fail('a new key is shown'));
    await eventually('all workers are healthy', () => workers.every((worker) => proxy.isHealthy(worker)), 30_000);
    const load = new Load(proxy);
    try {
      await eventually('each worker runs sessions', () => new Set(load.created.map(({ worker }) => worker)).size === workersCount, 30_000);
      for (const worker of workers) {
        load.onStopping(worker.workerId ?? assert.fail('a worker has an id'));
        await worker.restart();
        await eventually('it is healthy again', () => proxy.isHealthy(worker), 30_000);
        load.onStarted();
      }
    } finally {
      await load.end();
      await proxy.close();
    }
    assert.deepEqual([load.failures.slice(0, 5), workers.flatMap((worker) => worker.unexpectedExits)], [[], []]);
    assert.ok(load.requests > 50, `${load.requests} requests`);
    const reply = await fetch(`${first?.url}/v1/sessions?limit=100&status=ended`, { headers: { authorization: `Bearer ${key}` } });
    const reasons = z.array(z.object({ ended_reason: z.string() })).parse(await reply.json());
    assert.deepEqual(
      reasons.map((session) => session.ended_reason).filter((reason) => reason !== 'requested' && reason !== 'drained'),
      [],
    );
  });
});
