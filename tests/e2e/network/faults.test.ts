import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import {
  ErrorBody,
  createKey,
  createSession,
  endSession,
  getSession,
  health,
  listAllSessions,
  listKeys,
  listTabs,
  navigate,
} from '@berth/contract';
import { assertPrompt } from '../../yardstick.ts';
import type { Client } from '../../client.ts';
import { nightly } from '../../nightly.ts';
import { Service, eventually, stopAll } from '../service.ts';
import { startSite, type Site } from '../site.ts';

describe('the service during crashes and shutdowns', () => {
  let site: Site;
  const dataDir = mkdtempSync(join(tmpdir(), 'berth-faults-'));
  const environment = () => ({ BERTH_EGRESS_ALLOW: site.host });
  before(async () => {
    site = await startSite();
  });
  after(async () => {
    await stopAll();
    await site.close();
    rmSync(dataDir, { recursive: true, force: true });
  });

  it('the service prints its keys once, protects their files, and prints one line when it is ready', async () => {
    const service = await Service.start({ environment: environment(), dataDir });
    assert.match(service.output, /brt_live_[0-9A-Za-z]{49}/);
    assert.match(service.output, /\/docs/);
    assert.equal(service.output.match(/^Berth is ready: http:\/\/127\.0\.0\.1:\d+$/gm)?.length, 1);
    for (const name of ['api-key', 'admin-key', 'token-key', 'profile-key'])
      assert.equal(statSync(join(dataDir, name)).mode & 0o777, 0o600);
    const raw = service.key;
    const [, header] = /-H ("Authorization: [^"]+")/.exec(service.output) ?? [];
    assert.equal(
      execFileSync('sh', ['-c', `printf %s ${header}`]).toString(),
      `Authorization: Bearer ${raw}`,
      'the printed curl does not carry the key',
    );
    assert.equal(await service.stop(), 0);
    assert.ok(!service.errors.includes(raw), 'a key is in the log');

    const again = await Service.start({ environment: environment(), dataDir });
    assert.ok(!again.output.includes(raw), 'a key was shown a second time');
    assert.equal(again.key, raw);
    assert.equal((await again.client.call(createSession, { body: {} })).status, 201);
    assert.equal(await again.stop('SIGINT'), 0);
    assert.deepEqual(leftovers(dataDir), []);
  });

  it('the service keeps keys and leaves no machine when it is killed with live sessions', async () => {
    const service = await Service.start({ environment: { ...environment(), BERTH_POOL_TARGET: '1' }, dataDir });
    const { client } = service;
    const sessions = await Promise.all([1, 2].map(async () => (await client.call(createSession, { body: {} })).body));
    const starting = (await client.call(createSession, { body: {}, query: { wait: 'false' } })).body;
    const pids = (await client.call(listAllSessions, { query: { status: 'ready' } })).body.map((each) => each.pid ?? 0);
    assert.equal(pids.length >= 2, true);
    const { body: made } = await client.call(createKey, { body: { owner: 'acme' } });
    process.kill(service.pid, 'SIGKILL');
    await eventually('no process of the machines is left', () => pids.every((pid) => pid === 0 || !isAlive(pid)));

    const again = await Service.start({ environment: environment(), dataDir });
    assert.equal((await again.client.call(health)).status, 200);
    for (const { session_id } of [...sessions, starting]) {
      const seen = await eventually('the session is reported as ended', async () => {
        const { body } = await again.client.call(getSession, { params: { session_id } });
        return ['ended', 'failed'].includes(body.status) && body;
      });
      assert.equal(seen.ended_reason, 'worker_lost');
    }
    assert.ok((await again.client.call(listKeys)).body.some((key) => key.key_id === made.key_id));
    await eventually('the earlier machines are removed', () => leftovers(dataDir).length === 0);
    assert.equal(await again.stop(), 0);
  });

  describe('while it runs', () => {
    let service: Service;
    let client: Client;
    before(async () => {
      service = await Service.start({ environment: environment(), dataDir });
      client = service.client;
    });

    const createWithPid = async (): Promise<{ params: { session_id: string }; pid: number }> => {
      const { session_id } = (await client.call(createSession, { body: {} })).body;
      // Waits for its first page.
      await client.call(listTabs, { params: { session_id } });
      const all = (await client.call(listAllSessions, { query: { status: 'ready' } })).body;
      return { params: { session_id }, pid: all.find((each) => each.session_id === session_id)?.pid ?? assert.fail('no process') };
    };

    it('a running service refuses a second service on its data folder', async () => {
      await assert.rejects(Service.start({ environment: environment(), dataDir }), /another Berth process/);
      assert.equal((await client.call(health)).status, 200);
    });

    it('the service answers a call at once when its browser is killed', async () => {
      const { params, pid } = await createWithPid();
      const call = client.refuse(navigate, 'session_lost', { params, body: { url: `${site.url}/hang?killed` } });
      await eventually('the page is requested', () => site.hits.includes('/hang?killed'));
      const since = performance.now();
      process.kill(pid, 'SIGKILL');
      await call;
      assertPrompt(since, 20_000, 'it took as long as a timeout');
    });

    it('the service ends a frozen machine on request', nightly, async () => {
      const { params, pid } = await createWithPid();
      freeze(pid);
      const { text } = await client.send(navigate, { params, body: { url: site.url, timeout_ms: 1000 } });
      // Which one depends on whether the page or the machine's own check notices first.
      assert.ok(['navigation_failed', 'session_not_ready', 'session_lost'].includes(ErrorBody.parse(JSON.parse(text)).error.code), text);
      assert.equal((await client.call(endSession, { params })).status, 204);
      await eventually('the machine has exited', () => !isAlive(pid));
    });

    it('the service reports draining, lets the running call finish and leaves nothing when it is stopped', async () => {
      const { params } = await createWithPid();
      const call = client.send(navigate, { params, body: { url: `${site.url}/hang?drained`, timeout_ms: 8000 } });
      await eventually('the page is requested', () => site.hits.includes('/hang?drained'));
      const stopped = service.stop();
      const report = await eventually('/health reports it', async () => {
        const reply = await client.call(health);
        return reply.status === 503 && reply.body;
      });
      assert.equal(report.checks['drain']?.status, 'degraded');
      const { reply } = await client.refuse(createSession, 'draining', { body: {} });
      assert.ok(Number(reply.headers.get('retry-after')) > 0);
      assert.equal((await call).status, 502);
      assert.equal(await stopped, 0);
      assert.deepEqual(leftovers(dataDir), []);
    });
  });

  it('the service starts with the command of the README', async () => {
    // The service knows no variables of tests, and refuses to start with one.
    const inherited = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('BERTH_')));
    const child = spawn('npm', ['start'], {
      cwd: join(import.meta.dirname, '../../..'),
      env: { ...inherited, BERTH_PORT: '0', BERTH_DATA_DIR: dataDir, BERTH_POOL_TARGET: '0' },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    let errors = '';
    child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()));
    const exited = new Promise<number | null>((resolve) => child.once('exit', resolve));
    try {
      await eventually('it is ready', () => /^Berth is ready: /m.test(output) || child.exitCode !== null, 120_000);
      assert.equal(child.exitCode, null, errors);
    } finally {
      child.kill('SIGTERM');
      await exited;
    }
    assert.deepEqual(leftovers(dataDir), []);
  });
});

const leftovers = (dataDir: string): string[] => readdirSync(join(dataDir, 'machines'));

function isAlive(pid: number): boolean {
  try {
    return !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

/** Stops a process and then its children, so that it starts no more meanwhile. Those that have just exited need no stop. */
function freeze(pid: number): void {
  try {
    process.kill(pid, 'SIGSTOP');
    childrenOf(pid).forEach(freeze);
  } catch {
    assert.ok(!isAlive(pid));
  }
}

const childrenOf = (pid: number): number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number);
