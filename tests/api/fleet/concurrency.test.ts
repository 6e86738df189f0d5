/** Concurrent callers: exact limits and no leaks. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { createSession, endSession, getSession, listSessions, navigate } from '@berth/contract';
import { eventually, startApp, type Reply, type TestApp } from '../../harness.ts';
import { drivingOf, hang, machinesLeft, nothingLeft, waitingMax } from '../../contract/session-states.ts';

const folder = mkdtempSync(join(tmpdir(), 'berth-tiers-'));
const open = {
  concurrency_limit: null,
  creates_per_minute: null,
  requests_per_minute: null,
  max_session_seconds: 900,
  tab_limit: null,
  premium_egress: true,
};
const sessionsMax = 60;
let served: TestApp;
before(async () => {
  writeFileSync(
    join(folder, 'tiers.json'),
    JSON.stringify({ default_tier: 'open', tiers: { open, single: { ...open, concurrency_limit: 1 } } }),
  );
  served = await startApp({ environment: { BERTH_TIERS_FILE: join(folder, 'tiers.json'), BERTH_MAX_SESSIONS: String(sessionsMax) } });
});
after(async () => {
  await served.close();
  rmSync(folder, { recursive: true });
});

const many = <T>(count: number, work: (n: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, n) => work(n)));
const tally = (replies: Reply[]): Record<string, number> => {
  const counts: Record<string, number> = {};
  for (const { status, body } of replies) {
    const name = status < 300 ? String(status) : `${status} ${(body as { code?: string }).code}`;
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
};
async function endAll(key?: string): Promise<void> {
  const asOwner = key === undefined ? {} : { key };
  const { body } = await served.call(listSessions, { ...asOwner, query: { status: 'ready,starting,ending', limit: '500' } });
  await Promise.all(body.map(({ session_id }) => served.call(endSession, { ...asOwner, params: { session_id } })));
}
const nothingIsLeft = () =>
  eventually('nothing is left', async () => JSON.stringify(await machinesLeft(served)) === JSON.stringify(nothingLeft));

describe('fifty creates at once', () => {
  it('fifty creates at once at a limit of one give one session, one machine and forty-nine refusals', async () => {
    const key = await served.ownerKey('single', 'single');
    const booted = served.runtime.counts.booted;
    const replies = await many(50, () => served.call(createSession, { key, body: {} }));
    assert.deepEqual(tally(replies), { '201': 1, '429 concurrency_limit': 49 });
    assert.equal(served.runtime.counts.booted - booted, 1);
    assert.deepEqual(await machinesLeft(served), { onHost: 1, berths: 1, live: 1 });
    await endAll(key);
    await nothingIsLeft();
  });

  it('fifty creates at once with one name create one session', async () => {
    const replies = await many(50, () => served.call(createSession, { body: { name: 'the one' } }));
    assert.deepEqual(tally(replies), { '201': 1, '409 name_taken': 49 });
    assert.deepEqual(await machinesLeft(served), { onHost: 1, berths: 1, live: 1 });
    await endAll();
    await nothingIsLeft();
  });
});

describe('a worker', () => {
  it('a worker never exceeds its maximum of sessions', async () => {
    const replies = await many(100, () => served.call(createSession, { body: {} }));
    assert.deepEqual(tally(replies), { '201': sessionsMax, [`503 no_capacity`]: 100 - sessionsMax });
    assert.deepEqual(await machinesLeft(served), { onHost: sessionsMax, berths: sessionsMax, live: sessionsMax });
    await endAll();
    await nothingIsLeft();
    assert.equal((await served.create()).status, 'ready');
    await endAll();
    await nothingIsLeft();
  });

  it('a worker limits concurrent machine starts', async () => {
    let starting = 0;
    let max = 0;
    const { runtime } = served;
    const boot = runtime.boot.bind(runtime);
    runtime.boot = async (request, options) => {
      max = Math.max(max, ++starting);
      try {
        return await boot(request, options);
      } finally {
        starting -= 1;
      }
    };
    runtime.delayBoot(2);
    try {
      const replies = await many(40, () => served.call(createSession, { body: {} }));
      assert.deepEqual(tally(replies), { '201': 40 });
      assert.ok(max <= 4, `${max} at once`);
    } finally {
      runtime.delayBoot(0);
      runtime.boot = boot;
    }
    await endAll();
    await nothingIsLeft();
  });
});

describe('fifty deletes at once', () => {
  it('fifty deletes of one session at once are all answered 204 with one teardown', async () => {
    const { session_id } = await served.create();
    const destroyed = served.runtime.counts.destroyed;
    const replies = await many(50, () => served.call(endSession, { params: { session_id } }));
    assert.deepEqual(tally(replies), { '204': 50 });
    await nothingIsLeft();
    assert.equal(served.runtime.counts.destroyed - destroyed, 1);
  });
});

describe('drive calls at once', () => {
  it('drive calls at once are executed one at a time with sixteen queued and the rest refused', async () => {
    const { session_id } = await served.create();
    const calls = await hang(served, session_id, waitingMax + 1);
    const replies = await many(10, () => served.call(navigate, { params: { session_id }, body: { url: 'about:blank' } }));
    assert.deepEqual(tally(replies), { '409 session_busy': 10 });
    await served.call(endSession, { params: { session_id } });
    assert.deepEqual(tally(await Promise.all(calls)), { '409 session_ended': waitingMax + 1 });
    await nothingIsLeft();
  });

  it('drive calls leave the queue when their caller disconnects', async () => {
    const { session_id } = await served.create();
    const leaving = new AbortController();
    const [first] = await hang(served, session_id);
    const waiting = many(waitingMax, () =>
      served.call(navigate, { params: { session_id }, body: { url: 'about:blank' }, signal: leaving.signal }).catch(() => 'disconnected'),
    );
    await eventually('the queue is full', () => drivingOf(served, session_id) === waitingMax + 1);
    leaving.abort();
    await waiting;
    await eventually('the queue is empty', () => drivingOf(served, session_id) === 1);
    await served.call(endSession, { params: { session_id } });
    await first;
    await nothingIsLeft();
  });
});

describe('a caller that disconnects while its session starts', () => {
  it('a caller that disconnects while its session starts leaves no session and no running machine', async () => {
    served.runtime.delayBoot(60_000);
    const leaving = new AbortController();
    const creating = served.call(createSession, { body: { name: 'abandoned' }, signal: leaving.signal });
    await eventually('the session is starting', () => served.app.sessions.live.size === 1);
    leaving.abort();
    await assert.rejects(creating);
    await nothingIsLeft();
    // Not before: its machine may not have begun to boot, and would be there before the service knows that the caller has left.
    served.runtime.delayBoot(0);
    const { body } = await served.call(listSessions, { query: { name: 'abandoned' } });
    assert.deepEqual(
      body.map(({ ended_reason }) => ended_reason),
      ['requested'],
    );
    assert.equal((await served.create({ name: 'abandoned' })).status, 'ready', 'the name is free');
    await endAll();
    await nothingIsLeft();
  });

  it('a create leaves nothing when the connection is lost before the response is read', async () => {
    const { hostname, port } = new URL(served.url);
    await many(20, async () => {
      const socket = connect(Number(port), hostname);
      socket.on('error', () => undefined);
      const body = '{"metadata":{"torn":"yes"}}';
      socket.write(
        `POST /v1/session HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${served.key}\r\n` +
          `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
      );
      await new Promise((resolve) => socket.once('connect', resolve));
      socket.destroy();
    });
    // Each was never created, was ended with its caller, or is visible to its owner.
    await eventually('only visible sessions remain', async () => {
      await endAll();
      return JSON.stringify(await machinesLeft(served)) === JSON.stringify(nothingLeft);
    });
  });
});

describe('sessions of one owner', () => {
  it('sessions of one owner can be created, read, driven and ended concurrently with correct responses', async () => {
    await many(20, async (n) => {
      const { session_id } = await served.create({ metadata: { n: String(n) } });
      const params = { session_id };
      const [read, moved] = await Promise.all([
        served.call(getSession, { params }),
        served.call(navigate, { params, body: { url: `http://site.test/${n}` } }),
      ]);
      assert.equal(read.body.metadata['n'], String(n));
      assert.equal(moved.body.final_url, `http://site.test/${n}`);
      await served.call(endSession, { params });
    });
    await nothingIsLeft();
  });
});
