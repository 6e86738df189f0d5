/** HAProxy with the configuration of deploy/, in front of workers. */
import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { createServer as createTcpServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createSession, endSession, health, navigate } from '@berth/contract';
import { startProxiedApp, type ProxiedApp } from '../services/database-proxy.ts';
import { Client } from '../client.ts';
import { eventually, startApp, type TestApp } from '../harness.ts';

const config = join(import.meta.dirname, '../../deploy/haproxy/haproxy.cfg');
/** Two failed checks, each after a second at the most, and as much again as a busy machine takes. */
const noticeMs = 30_000;

async function freePort(): Promise<number> {
  const server = createTcpServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

/** Debian's HAProxy. */
class Proxy {
  readonly url: string;
  readonly #process: ChildProcess;

  private constructor(url: string, process: ChildProcess) {
    this.url = url;
    this.#process = process;
  }

  static async start(workers: readonly string[]): Promise<Proxy> {
    const bind = `127.0.0.1:${await freePort()}`;
    const addresses = Object.fromEntries(workers.map((url, at) => [`WORKER_${at + 1}`, new URL(url).host]));
    const path = `${process.env['PATH'] ?? ''}:/usr/sbin`;
    const started = spawn('haproxy', ['-db', '-f', config], { env: { PATH: path, BIND: bind, ...addresses }, stdio: 'ignore' });
    await once(started, 'spawn');
    const proxy = new Proxy(`http://${bind}`, started);
    try {
      const isUp = (): Promise<boolean> =>
        proxy.get('/').then(
          () => true,
          () => false,
        );
      await eventually('the proxy answers', isUp, noticeMs);
      return proxy;
    } catch (error) {
      await proxy.stop();
      throw error;
    }
  }

  /** Which worker answered: what it said. */
  async get(path: string): Promise<string> {
    return (await fetch(this.url + path, { headers: { connection: 'close' } })).text();
  }

  async stop(): Promise<void> {
    this.#process.kill('SIGTERM');
    if (this.#process.exitCode === null) await once(this.#process, 'exit');
  }
}

/** What a worker's `/health` and `/livez` say, and nothing else of it. */
class Worker {
  healthStatus = 200;
  livezStatus = 200;
  healthMs = 0;
  readonly name: string;
  readonly server: Server;

  constructor(name: string) {
    this.name = name;
    this.server = createServer(({ url }, response) => void this.#answer(url, response));
  }

  async #answer(url: string | undefined, response: ServerResponse): Promise<void> {
    if (url === '/health') await sleep(this.healthMs);
    response.statusCode = url === '/health' ? this.healthStatus : url === '/livez' ? this.livezStatus : 200;
    response.end(this.name);
  }
}

describe('the proxy in front of workers', () => {
  const workers = ['one', 'two', 'three'].map((name) => new Worker(name));
  let proxy: Proxy;
  before(async () => {
    const urls = workers.map(async ({ server }) => {
      await once(server.listen(0, '127.0.0.1'), 'listening');
      return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    });
    proxy = await Proxy.start(await Promise.all(urls));
  });
  after(async () => {
    await proxy?.stop();
    for (const { server } of workers) server.close();
  });

  /** Which workers answer twelve requests. */
  const answering = async (): Promise<string> => {
    const names = new Set<string>();
    for (let n = 0; n < 12; n += 1) names.add(await proxy.get('/v1/sessions'));
    return [...names].toSorted().join(' ');
  };
  const answers = (names: string): Promise<unknown> => eventually(`${names} answer`, async () => (await answering()) === names, noticeMs);
  const [one, two, three] = workers as [Worker, Worker, Worker];

  it('the proxy in front of workers sends nothing new to a worker whose health fails', async () => {
    await answers('one three two');
    one.healthStatus = 503;
    await answers('three two');
  });

  it('the proxy in front of workers leaves no worker out whose health takes as long as the database may', async () => {
    two.healthMs = 2000;
    await sleep(5000);
    assert.equal(await answering(), 'three two');
    two.healthMs = 0;
  });

  it('the proxy in front of workers uses all that are alive while the health of all fails, and none that is not', async () => {
    two.healthStatus = three.healthStatus = 503;
    await answers('one three two');
    three.livezStatus = 503;
    await answers('one two');
    for (const worker of workers) worker.healthStatus = worker.livezStatus = 200;
    await answers('one three two');
  });
});

describe('the proxy in front of a fleet', () => {
  let first: ProxiedApp;
  const others: TestApp[] = [];
  let proxy: Proxy;
  before(async () => {
    const environment = { BERTH_TRUSTED_PROXIES: '127.0.0.1' };
    first = await startProxiedApp({ isInFleet: true, environment });
    const beside = { databaseUrl: first.proxy.url, key: first.key };
    for (let n = 0; n < 2; n += 1) others.push(await startApp({ isInFleet: true, environment, beside }));
    await eventually('the workers know each other', async () => {
      for (const { app } of others) if (!(await first.app.forwarding?.canReach(app.fleet.deps.workerId))) return false;
      return true;
    });
    proxy = await Proxy.start([first, ...others].map(({ url }) => url));
  });
  after(async () => {
    await proxy?.stop();
    for (const each of others) await each.close();
    await first?.close();
  });

  it('the proxy in front of a fleet lets clients drive their sessions while the database is away, and refuses the rest with what to do', async () => {
    const client = new Client(proxy.url, first.key);
    const { body: session } = await client.call(createSession, { body: {} });
    const drive = { params: { session_id: session.session_id }, body: { url: 'http://site.test/' } };
    // Each knows the key and the session from then on.
    for (const worker of [first, ...others]) assert.equal((await worker.call(navigate, drive)).status, 200);
    await first.proxy.cut();
    // All workers have failed two checks by then.
    await sleep(6000);
    await eventually('health fails', async () => (await client.call(health, { key: null })).status === 503);
    for (let n = 0; n < 6; n += 1) {
      const { status, text } = await client.call(navigate, drive);
      assert.equal(status, 200, text);
      const { reply } = await client.refuse(createSession, 'store_unavailable', { body: {} });
      assert.ok(Number(reply.headers.get('retry-after')) >= 1);
    }
    await first.proxy.restore();
    await eventually('new sessions are created', async () => (await client.call(createSession, { body: {} })).status === 201, 30_000);
    assert.equal((await client.call(endSession, { params: drive.params })).status, 204, 'it is the same session');
  });
});
