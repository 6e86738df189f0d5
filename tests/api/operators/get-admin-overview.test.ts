import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import {
  createCreditCodes,
  createSession,
  endSession,
  fetchPage,
  getFetchJob,
  getSession,
  grantCredits,
  listOwners,
  metrics,
  overview,
  redeemCredits,
  type OverviewResponse,
} from '@berth/contract';
import { attemptOf, blockOf } from '../../../packages/server/testing/selfheal.ts';
import { createFakeRuntime } from '@berth/machines/testing/fake/fake.ts';
import { eventually, jobIdOf, startApp, type TestApp } from '../../harness.ts';
import { browse, bytesIn, startMeteredApp, type MeteredApp } from '../../prepare/metered-app.ts';

/** Each machine of the pool waits for up to ten seconds while the host is busy. */
const busyPoolMs = 60_000;
const memoryAvailableBytes = 123_456_789_000;
let served: MeteredApp;
before(async () => {
  served = await startMeteredApp({
    environment: { BERTH_POOL_TARGET: '2', BERTH_CREDITS_ENFORCED: 'true' },
    hostReader: () => ({ memoryAvailableBytes, memoryStallPercent: 0, cpuStallPercent: 0 }),
  });
});
after(() => served.close());

const read = async (from: TestApp = served): Promise<OverviewResponse> => (await from.call(overview)).body;

interface AnyTables {
  sessions: { session_id: string; status: string };
  jobs: { job_id: string; status: string };
  machines: { vm_id: string; state: string };
  block_events: { event_id: string };
  wallets: { balance: number };
  credit_journal: { from_account: string; to_account: string; amount: number };
}
const rowsOf = <T extends keyof AnyTables>(table: T) =>
  served.app.fleet.deps.store
    .tables<AnyTables>()
    .selectFrom(table as 'sessions')
    .selectAll()
    .execute() as unknown as Promise<AnyTables[T][]>;

function countBy<T>(rows: readonly T[], key: (row: T) => string): Record<string, number> {
  return Object.fromEntries([...Map.groupBy(rows, key)].map(([name, group]) => [name, group.length]));
}
const withoutZeros = (counts: Record<string, number>): Record<string, number> =>
  Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0));

/** Counts the bytes of its connections by its own sockets. */
async function startCountingSite() {
  const done = Promise.withResolvers<void>();
  const site = { url: '', bytesIn: 0, bytesOut: 0, closed: done.promise, close: () => promisify(server.close.bind(server))() };
  const server = createServer((_request, response) => void response.setHeader('connection', 'close').end('x'.repeat(10_000)));
  server.on('connection', (socket) =>
    socket.on('close', () => {
      site.bytesIn += socket.bytesRead;
      site.bytesOut += socket.bytesWritten;
      done.resolve();
    }),
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  site.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return site;
}

describe('200', () => {
  it('GET /admin/overview counts the sessions, machines and jobs that the database and the runtime have', async () => {
    const { key } = await served.newOwner('open', 100);
    const sessions = await Promise.all(Array.from({ length: 5 }, () => served.create({}, { key })));
    await served.call(endSession, { key, params: { session_id: sessions[0]?.session_id ?? '' } });
    await served.refuse(createSession, 'insufficient_credits', { key: (await served.newOwner('open')).key, body: {} });
    const { body: job } = await served.call(fetchPage, { key, body: { url: 'http://status-204.test/', async: true } });
    await served.call(getFetchJob, { key, params: { job_id: jobIdOf(job) }, query: { wait_seconds: '15' } });
    const { fleet } = served.app;
    const isFull = (): boolean => fleet.count('ready') === 2 && fleet.count('warming') + fleet.count('draining') === 0;
    await eventually('the pool is full and nothing ends', isFull, busyPoolMs);
    const { sessions: counted, fetch_machines, jobs, pool } = await read();
    assert.deepEqual(
      withoutZeros({ ...counted, ready: counted.ready + fetch_machines }),
      countBy(await rowsOf('sessions'), ({ status }) => status),
    );
    assert.deepEqual([counted.ready, counted.ended], [4, 1]);
    const inUse = served.runtime.machines.size - 2;
    assert.deepEqual(pool, {
      targets: { headless: 2, full_browser: 0 },
      counts: { warming: 0, ready: 2, assigned: inUse, draining: 0, failed: 0 },
    });
    assert.equal(counted.ready + fetch_machines, inUse);
    assert.deepEqual(withoutZeros(jobs), { ok: 1 });
    assert.deepEqual(
      withoutZeros(jobs),
      countBy(await rowsOf('jobs'), ({ status }) => status),
    );
  });

  it('GET /admin/overview has the traffic that a site has counted itself', async () => {
    const { key } = await served.newOwner('open', 100);
    const { session_id } = await served.create({}, { key });
    const counted = await startCountingSite();
    try {
      const { egress: before } = await read();
      await browse(served, session_id, `${counted.url}/`);
      await counted.closed;
      const { egress } = await read();
      assert.ok(counted.bytesOut > 10_000);
      assert.deepEqual([egress.bytes_in - before.bytes_in, egress.bytes_out - before.bytes_out], [counted.bytesOut, counted.bytesIn]);
      assert.equal(egress.bytes_in + egress.bytes_out, bytesIn((await served.call(metrics)).text));
      assert.equal(egress.proxied_bytes, 0);
      assert.ok(egress.routes > 0);
    } finally {
      await counted.close();
    }
  });

  it('GET /admin/overview has the disk as the system says, and the memory that the host reports', async () => {
    const { host } = await read();
    const { bavail, bsize } = statfsSync(served.dataDir);
    // Other programs write meanwhile.
    const off = Math.abs((host.disk_free_bytes ?? 0) / (bavail * bsize) - 1);
    assert.ok(off < 0.05, `${host.disk_free_bytes} bytes, ${bavail * bsize} by statfs`);
    assert.deepEqual([host.disk, host.admitting, host.memory_available_bytes], ['ok', true, memoryAvailableBytes]);
  });

  it('GET /admin/overview sums up what was given and taken back, and what is left of it for all owners', async () => {
    const { owner, key } = await served.newOwner('open', 10.5);
    await served.call(grantCredits, { body: { owner, amount: -2.25 } });
    const { codes } = (await served.call(createCreditCodes, { body: { amount: 7 } })).body;
    await served.call(redeemCredits, { key, body: { code: codes?.[0] ?? '' } });
    await served.create({}, { key });
    await served.flush();
    const { granted, spent, balance } = (await read()).credits;
    const journal = await rowsOf('credit_journal');
    const sum = (matches: (row: AnyTables['credit_journal']) => boolean): number =>
      journal.filter(matches).reduce((total, { amount }) => total + amount, 0);
    const given = sum((row) => row.from_account.startsWith('source:')) - sum((row) => row.to_account.startsWith('source:'));
    const charged = sum((row) => row.to_account.startsWith('revenue:'));
    assert.ok(charged >= 1e6 && spent * 1e6 >= charged, `${spent} spent, ${charged} charged`);
    assert.deepEqual([granted * 1e6, Math.round(balance * 1e6)], [given, given - Math.round(spent * 1e6)]);
    const { body: owners } = await served.call(listOwners, { query: { limit: '100' } });
    assert.equal(Math.round(balance * 1e6), Math.round(owners.reduce((all, owner) => all + owner.balance, 0) * 1e6));
  });

  it('GET /admin/overview counts the blocks of the last day, and denied requests by their code', async () => {
    const { selfHeal } = served.app;
    const dayMs = 24 * 3_600_000;
    const blocked = (startedAt: Date) => attemptOf({ outcome: 'blocked', block: blockOf('captcha'), startedAt });
    for (const agoMs of [0, 1000, dayMs + 60_000]) selfHeal.record({ attempts: [blocked(new Date(Date.now() - agoMs))] });
    await served.refuse(getSession, 'missing_api_key', { key: null, params: { session_id: 'ses_1' } });
    const { blocks_24h, denials } = await read();
    assert.deepEqual([blocks_24h, (await rowsOf('block_events')).length], [2, 3]);
    const { text } = await served.call(metrics);
    const counted = Array.from(text.matchAll(/^berth_denials_total\{reason="(\w+)"\} (\d+)$/gm), ([, reason = '', count]) => [
      reason,
      Number(count),
    ]);
    assert.deepEqual(denials, withoutZeros(Object.fromEntries(counted) as Record<string, number>));
    assert.ok((denials['missing_api_key'] ?? 0) >= 1);
  });

  it('GET /admin/overview has each loop with its last turn and error', async () => {
    const loop = served.app.loops.find(({ name }) => name === 'audit-pruning') ?? assert.fail();
    const { status } = loop;
    loop.status = { ...status, lastError: 'Error: no such table', failures: 2 };
    const { loops } = await read();
    loop.status = status;
    assert.deepEqual(
      loops.map(({ name }) => name),
      served.app.loops.map(({ name }) => name),
    );
    const { turns, last_turn_at, ...rest } = loops.find(({ name }) => name === 'audit-pruning') ?? assert.fail();
    assert.deepEqual(rest, { name: 'audit-pruning', interval_ms: loop.intervalMs, last_error: 'Error: no such table', failures: 2 });
    assert.deepEqual([turns > 0, Math.abs(Date.parse(last_turn_at ?? '') - Date.now()) < 600_000], [true, true]);
  });

  it('GET /admin/overview has the workers of all regions, and counts the machines of silent ones as failed', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'berth-overview-'));
    const other = await startApp({ previous: { dataDir, databaseUrl: served.databaseUrl, runtime: createFakeRuntime() } });
    try {
      await other.create();
      const before = await read();
      const { worker_id, region } = await read(other);
      assert.deepEqual([before.region, region, worker_id !== before.worker_id], ['local', 'local', true]);
      assert.deepEqual(Object.fromEntries(before.workers.map((worker) => [worker.worker_id, worker.alive])), {
        [before.worker_id]: true,
        [worker_id]: true,
      });
      await other.app.fleet.heartbeat.stop();
      await served.app.fleet.deps.store
        .tables<{ workers: { worker_id: string; heartbeat_at: Date; lost_heartbeat: Date } }>()
        .updateTable('workers')
        .set((row) => ({ lost_heartbeat: row.ref('heartbeat_at') }))
        .where('worker_id', '=', worker_id)
        .execute();
      const { workers, pool } = await read();
      assert.equal(workers.find((worker) => worker.worker_id === worker_id)?.alive, false);
      assert.deepEqual([before.pool.counts.failed, pool.counts.failed], [0, 1]);
      assert.equal(pool.counts.assigned, before.pool.counts.assigned - 1);
    } finally {
      await other.close();
      rmSync(dataDir, { recursive: true });
    }
  });

  it('GET /admin/overview names insecure settings, and none where there are none', async () => {
    const { warnings, version, uptime_seconds } = await read();
    // Nothing of billing is set, so events of billing are no risk.
    assert.match(warnings.join('\n'), /^The development sign-in/);
    assert.deepEqual([version, uptime_seconds > 0], ['0.1.0', true]);
    const unsigned = await startApp({ environment: { BERTH_ALLOW_UNSIGNED_WEBHOOKS: '1' } });
    try {
      assert.match((await read(unsigned)).warnings.join('\n'), /accepted WITHOUT A SIGNATURE[^]*The development sign-in/);
    } finally {
      await unsigned.close();
    }
    const secured = await startApp({ environment: { BERTH_DEV_IDP: 'false', BERTH_STRIPE_WEBHOOK_SECRET: 'whsec_0123456789' } });
    try {
      assert.deepEqual((await read(secured)).warnings, []);
    } finally {
      await secured.close();
    }
  });
});
