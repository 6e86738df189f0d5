/** The machines that fetches share: whose they are, how long they last, and that nothing of them stays. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { createSession, endSession, fetchPage, getFetchJob, getSession, getUsage, type FetchResponse } from '@berth/contract';
import { eventually, startApp, type Reply, type TestApp } from '../harness.ts';
import { answerableFor, hangingUrl, machineOf, machinesLeft, nothingLeft } from '../session-states.ts';
import { ManualClock } from '../../packages/server/src/lib/clock.ts';

const folder = mkdtempSync(join(tmpdir(), 'berth-fetch-'));
const clock = new ManualClock();
let served: TestApp;
before(async () => {
  const tier = {
    concurrency_limit: null,
    creates_per_minute: 1,
    requests_per_minute: null,
    max_session_seconds: 900,
    tab_limit: null,
    premium_egress: true,
  };
  const tiers = {
    open: { ...tier, creates_per_minute: null },
    once: tier,
    two: { ...tier, concurrency_limit: 2 },
    brief: { ...tier, max_session_seconds: 30 },
  };
  writeFileSync(join(folder, 'tiers.json'), JSON.stringify({ default_tier: 'open', tiers }));
  writeFileSync(join(folder, 'regions.json'), JSON.stringify({ regions: ['local', 'other'].map((code) => ({ code, name: code })) }));
  const environment = { BERTH_TIERS_FILE: join(folder, 'tiers.json'), BERTH_REGIONS_FILE: join(folder, 'regions.json') };
  served = await startApp({ clock, environment });
});
after(async () => {
  await served.close();
  rmSync(folder, { recursive: true });
});

let owners = 0;
const someKey = (tier?: string): Promise<string> => served.ownerKey(`owner-${++owners}`, tier);

/** It has come as soon as it is asked for, with nothing to read: machines are what matters here. */
const emptyPage = 'http://status-204.test/';

interface Request {
  key?: string;
  signal?: AbortSignal;
}
async function fetched(body: Record<string, unknown> = {}, request: Request = {}, app = served): Promise<FetchResponse> {
  const reply = await app.call(fetchPage, { ...request, body: { url: emptyPage, formats: ['html'], ...body } });
  assert.equal(reply.status, 200, reply.text);
  return reply.body;
}
/** The machine that fetched. */
async function machineFor(body: Record<string, unknown> = {}, request: Request = {}): Promise<string> {
  const { session_id, status } = await fetched(body, request);
  assert.equal(status, 'ok');
  return session_id ?? assert.fail('no browser fetched');
}

/** Fetches that hang, each on a page of its own; `leave` has their callers go away. */
async function hangFetches(
  count: number,
  { key, app = served }: { key?: string; app?: TestApp } = {},
): Promise<{ leave: () => Promise<void>; machines: () => string[] }> {
  const leaving = new AbortController();
  const asOwner = key === undefined ? {} : { key };
  const before = hangingOf(app);
  const order = { url: hangingUrl, timeout_ms: 100_000, retry: { max_attempts: 1 } };
  const calls = Array.from({ length: count }, () =>
    app.call(fetchPage, { ...asOwner, body: order, signal: leaving.signal }).catch(() => null),
  );
  await eventually('the fetches hang', () => hangingOf(app) === before + count);
  const leave = async (): Promise<void> => {
    leaving.abort();
    await Promise.all(calls);
    await eventually('the fetches are over', () => hangingOf(app) === before);
  };
  return {
    leave,
    machines: () => [...app.app.sessions.live.values()].filter(({ driving }) => driving > 0).map(({ record }) => record.sessionId),
  };
}
const hangingOf = ({ app }: TestApp): number => [...app.sessions.live.values()].reduce((sum, { driving }) => sum + driving, 0);

/** Lets time pass as the timers see it. */
async function pass(seconds: number): Promise<void> {
  clock.advance(seconds * 1000);
  served.app.sessions.timers.nudge();
  await served.app.sessions.timers.idle();
}
const isGone = (sessionId: string) => eventually('the machine is gone', () => !served.app.sessions.live.has(sessionId));

describe('a machine of fetches', () => {
  it('serves one fetch of its owner after the other', async () => {
    const key = await someKey();
    const { booted } = served.runtime.counts;
    const first = await machineFor({}, { key });
    for (const url of [`${emptyPage}next`, 'http://status-205.test/', 'http://status-304.test/'])
      assert.equal(await machineFor({ url }, { key }), first);
    assert.equal(served.runtime.counts.booted - booted, 1);
  });

  it('serves fetches that come at once, of its owner alone', async () => {
    const keys = await Promise.all([someKey(), someKey(), someKey()]);
    const { booted } = served.runtime.counts;
    const machines = await Promise.all(keys.map((key) => Promise.all(Array.from({ length: 6 }, () => machineFor({}, { key })))));
    const ofEach = machines.map((ids) => new Set(ids));
    assert.deepEqual(
      ofEach.map(({ size }) => size),
      [1, 1, 1],
    );
    assert.equal(new Set(machines.flat()).size, 3);
    assert.equal(served.runtime.counts.booted - booted, 3);
  });

  it('is shared by all keys of its owner', async () => {
    const [one, other] = await Promise.all([served.ownerKey('with-two-keys'), served.ownerKey('with-two-keys')]);
    assert.equal(await machineFor({}, { key: one }), await machineFor({}, { key: other }));
  });

  it('costs its owner no session, and time only while it holds a page', async () => {
    const key = await someKey();
    const usage = async () => (await served.call(getUsage, { key })).body.usage;
    const { leave, machines } = await hangFetches(1, { key });
    const [sessionId = ''] = machines();
    clock.advance(5000);
    await leave();
    clock.advance(30_000);
    assert.deepEqual([(await usage()).sessions, (await usage()).browser_seconds], [0, 5]);
    const { body } = await served.call(getSession, { key, params: { session_id: sessionId } });
    assert.deepEqual([body.purpose, body.usage.browser_seconds], ['fetch', 5]);
  });

  it('is begun and ended by itself, which the audit log leaves out', async () => {
    const key = await someKey();
    const sessionId = await machineFor({}, { key });
    await served.call(endSession, { key, params: { session_id: sessionId } });
    await isGone(sessionId);
    assert.deepEqual(await answerableFor(served, sessionId), []);
  });

  it('is another for each way out', async () => {
    const key = await someKey();
    const proxy = { type: 'external', server: 'http://proxy.example:3128' };
    const orders = [{}, { block_ads: true }, { region: 'other' }, { proxy }, { proxy: { ...proxy, username: 'u' } }];
    const machines = await Promise.all(orders.map((order) => machineFor(order, { key })));
    assert.equal(new Set(machines).size, orders.length);
    assert.deepEqual(await Promise.all(orders.map((order) => machineFor(order, { key }))), machines);
    assert.equal(await machineFor({ region: 'local' }, { key }), machines[0], 'the default region by its name is the same');
  });

  it('is told apart from a session that its owner started, and counts as none of its creates', async () => {
    const key = await someKey('once');
    const session_id = await machineFor({}, { key });
    const { body } = await served.call(getSession, { key, params: { session_id } });
    assert.deepEqual([body.purpose, body.status, body.metadata], ['fetch', 'ready', {}]);
    assert.equal((await served.create({}, { key })).purpose, 'session');
    await served.refuse(createSession, 'create_rate_limit', { key, body: {} });
    assert.equal(await machineFor({}, { key }), session_id);
  });

  it('takes a place of its owner’s plan', async () => {
    const key = await someKey('two');
    const session_id = await machineFor({}, { key });
    await served.create({}, { key });
    const { details } = await served.refuse(fetchPage, 'concurrency_limit', { key, body: { url: emptyPage, block_ads: true } });
    assert.deepEqual(details, { limit: 2, active: 2 });
    assert.equal(await machineFor({}, { key }), session_id, 'the one that is there goes on');
  });

  it('starts for plans whose sessions are brief, and takes no fetch that its end would cut', async () => {
    const key = await someKey('brief');
    const session_id = await machineFor({}, { key });
    const { body } = await served.call(getSession, { key, params: { session_id } });
    assert.deepEqual([body.timeout_seconds, body.idle_timeout_seconds], [30, 30]);
    await pass(15);
    assert.equal(await machineFor({}, { key }), session_id);
    await pass(2);
    assert.notEqual(await machineFor({}, { key }), session_id);
  });

  it('is left to the next fetch when the caller that it was started for goes away', async () => {
    const key = await someKey();
    const leaving = new AbortController();
    served.runtime.delayBoot(300);
    const { booted } = served.runtime.counts;
    const live = served.app.sessions.live.size;
    const call = served.call(fetchPage, { key, body: { url: emptyPage }, signal: leaving.signal });
    await eventually('the machine starts', () => served.app.sessions.live.size === live + 1);
    leaving.abort();
    await assert.rejects(call);
    await machineFor({}, { key });
    served.runtime.delayBoot(0);
    assert.equal(served.runtime.counts.booted - booted, 1);
  });

  it('keeps no page of a fetch that is over', async () => {
    const key = await someKey();
    const session_id = await machineFor({}, { key });
    for (let n = 0; n < 5; n += 1) await machineFor({ url: emptyPage + n }, { key });
    const { browser } = machineOf(served, session_id);
    await eventually('its own tab and one page made ahead are left', () => browser.pageUrls.join() === 'about:blank,about:blank');
  });

  it('keeps no page of a caller that went away', async () => {
    const key = await someKey();
    const session_id = await machineFor({}, { key });
    const { leave, machines } = await hangFetches(3, { key });
    assert.deepEqual(machines(), [session_id]);
    await leave();
    const { browser } = machineOf(served, session_id);
    await eventually('the pages are gone', () => browser.pageUrls.every((url) => url === 'about:blank') && browser.pageUrls.length === 2);
  });
});

describe('the end of a machine of fetches', () => {
  it('comes after two hundred fetches, and the next one gets another', { timeout: 60_000 }, async () => {
    const key = await someKey();
    const first = await machineFor({}, { key });
    for (let n = 0; n < 49; n += 1)
      assert.deepEqual(new Set(await Promise.all([1, 2, 3, 4].map(() => machineFor({}, { key })))), new Set([first]));
    for (let n = 0; n < 3; n += 1) assert.equal(await machineFor({}, { key }), first);
    await isGone(first);
    assert.notEqual(await machineFor({}, { key }), first);
  });

  it('comes after eight minutes, however busy it is', async () => {
    const key = await someKey();
    const first = await machineFor({}, { key });
    for (let seconds = 50; seconds <= 450; seconds += 50) {
      await pass(50);
      assert.equal(await machineFor({}, { key }), first);
    }
    await pass(31);
    assert.notEqual(await machineFor({}, { key }), first);
    await isGone(first);
  });

  it('comes by its age whoever fetches next', async () => {
    const [key, other] = await Promise.all([someKey(), someKey()]);
    const first = await machineFor({}, { key });
    for (let minute = 1; minute <= 9; minute += 1) {
      // Kept from being idle by what is no fetch.
      served.app.sessions.live.get(first)?.touch();
      await pass(55);
    }
    assert.ok(served.app.sessions.live.has(first));
    await machineFor({}, { key: other });
    await isGone(first);
    const { body } = await served.call(getSession, { key, params: { session_id: first } });
    assert.deepEqual([body.status, body.ended_reason], ['ended', 'requested']);
  });

  it('comes when nobody has fetched for a minute', async () => {
    const key = await someKey();
    const session_id = await machineFor({}, { key });
    await pass(59);
    assert.ok(served.app.sessions.live.has(session_id));
    await pass(1);
    await isGone(session_id);
    const { body } = await served.call(getSession, { key, params: { session_id } });
    assert.equal(body.ended_reason, 'idle_timeout');
    assert.notEqual(await machineFor({}, { key }), session_id);
  });

  it('waits for the fetches that are under way', async () => {
    const key = await someKey();
    const first = await machineFor({}, { key });
    const { leave } = await hangFetches(1, { key });
    await pass(9 * 60);
    assert.notEqual(await machineFor({}, { key }), first, 'it takes no new ones');
    assert.ok(served.app.sessions.live.has(first));
    await leave();
    await isGone(first);
  });

  it('leaves none behind', async () => {
    await pass(60);
    await eventually('nothing is left', async () => JSON.stringify(await machinesLeft(served)) === JSON.stringify(nothingLeft));
    assert.equal(served.app.fetches.machines.size, 0);
    const { booted, destroyed } = served.runtime.counts;
    assert.equal(booted, destroyed);
  });
});

describe('a machine of fetches that is lost', () => {
  it('is replaced for the next fetch', async () => {
    const key = await someKey();
    const first = await machineFor({}, { key });
    machineOf(served, first).crash();
    await isGone(first);
    assert.notEqual(await machineFor({}, { key }), first);
  });

  it('is replaced when its owner has ended it', async () => {
    const key = await someKey();
    const session_id = await machineFor({}, { key });
    await served.call(endSession, { key, params: { session_id } });
    assert.notEqual(await machineFor({}, { key }), session_id);
  });

  it('takes its fetch along, which is tried again in another', async () => {
    const key = await someKey();
    const session_id = await machineFor({}, { key });
    const call = fetched({ url: hangingUrl, timeout_ms: 2500 }, { key });
    await eventually('the fetch hangs', () => hangingOf(served) === 1);
    machineOf(served, session_id).crash();
    const { status, error, attempts, session_id: last } = await call;
    assert.deepEqual(
      [status, error?.code, attempts.map(({ error_code: code }) => code)],
      ['error', 'timeout', ['session_lost', 'timeout']],
    );
    assert.notEqual(last, session_id);
  });

  it('is told as lost where no attempt is left', async () => {
    const key = await someKey();
    const session_id = await machineFor({}, { key });
    const call = fetched({ url: hangingUrl, retry: { max_attempts: 1 } }, { key });
    await eventually('the fetch hangs', () => hangingOf(served) === 1);
    machineOf(served, session_id).crash();
    const { status, error, session_id: told } = await call;
    assert.deepEqual([status, error?.code, error?.retryable, told], ['error', 'session_lost', true, session_id]);
  });

  it('of a job is replaced too, and the job comes to its end', async () => {
    const key = await someKey();
    const { body } = await served.call(fetchPage, { key, body: { url: emptyPage, async: true } });
    const [session_id = ''] = body.job_id.split('.');
    await served.app.sessions.live.get(session_id)?.started;
    served.runtime.machines.get(served.app.sessions.live.get(session_id)?.machine?.id ?? '')?.crash();
    const done = await served.call(getFetchJob, { key, params: { job_id: body.job_id }, query: { wait_seconds: '25' } });
    assert.deepEqual([done.body.status, done.body.status_code], ['ok', 204]);
  });
});

describe('pages', () => {
  it('are as many at once as were allowed in one machine, the rest wait for their turn', async () => {
    const key = await someKey();
    const { leave, machines } = await hangFetches(4, { key });
    assert.equal(machines().length, 1);
    const waiting = machineFor({}, { key });
    const other = await machineFor({}, { key: await someKey() });
    assert.notEqual(other, machines()[0], 'other owners wait for nobody');
    await leave();
    await waiting;
  });

  it('spread over as many machines as were allowed', async () => {
    const wide = await startApp({ environment: { BERTH_FETCH_PAGES: '1', BERTH_FETCH_MACHINES: '3' } });
    const { leave, machines } = await hangFetches(3, { app: wide });
    assert.equal(machines().length, 3);
    await leave();
    await Promise.all([1, 2, 3, 4, 5, 6].map(() => fetched({}, {}, wide)));
    assert.equal(wide.runtime.counts.booted, 3);
    await wide.close();
  });

  it('that wait are bounded, and the fetch that is one too many is told so at once', { timeout: 30_000 }, async () => {
    const narrow = await startApp({ environment: { BERTH_FETCH_PAGES: '1' } });
    const { leave } = await hangFetches(1, { app: narrow });
    const leaving = new AbortController();
    const calls = Array.from({ length: 120 }, () =>
      narrow.call(fetchPage, { body: { url: emptyPage }, signal: leaving.signal }).catch((): null => null),
    );
    const refused: Reply[] = [];
    for (const call of calls) void call.then((reply) => reply && refused.push(reply));
    await eventually('twenty are refused', () => refused.length === 20);
    for (const reply of refused)
      assert.deepEqual(
        [reply.status, (reply.body as { code?: string }).code, Number(reply.headers.get('retry-after')) >= 1],
        [503, 'no_capacity', true],
      );
    leaving.abort();
    await Promise.all(calls);
    await leave();
    await narrow.close();
  });
});

describe('a worker that is stopped', () => {
  it('ends fetches under way, and leaves no machine', async () => {
    const stopping = await startApp({ environment: { BERTH_DRAIN_SECONDS: '0' } });
    await fetched({}, {}, stopping);
    const call = stopping.call(fetchPage, { body: { url: hangingUrl, retry: { max_attempts: 1 } } }).catch((error: unknown) => error);
    await eventually('the fetch hangs', () => hangingOf(stopping) === 1);
    await stopping.app.stop();
    await call;
    assert.deepEqual(await machinesLeft(stopping), nothingLeft);
    assert.equal(stopping.runtime.counts.booted, stopping.runtime.counts.destroyed);
    await stopping.close();
  });
});

describe('a hundred fetches', () => {
  /** Timers and sockets of this process, by kind. The callers' own connections are in it, and are as many each time. */
  const resources = (): Record<string, number> => {
    const counts: Record<string, number> = {};
    for (const kind of process.getActiveResourcesInfo()) counts[kind] = (counts[kind] ?? 0) + 1;
    return counts;
  };
  async function fetchMany(count: number): Promise<void> {
    const key = await someKey();
    const urls = [emptyPage, 'http://status-304.test/', 'http://fail-ERR_CONNECTION_REFUSED.test/', 'http://mute.test/'];
    const work = Array.from({ length: count }, (_, n) => urls[n % 40 === 3 ? 3 : n % 3] ?? '');
    const lane = async (): Promise<void> => {
      for (let url = work.shift(); url !== undefined; url = work.shift())
        await fetched({ url, timeout_ms: 1500, retry: { max_attempts: 1 }, formats: ['html', 'har', 'screenshot'], async: false }, { key });
    };
    await Promise.all([1, 2, 3, 4].map(lane));
    await pass(60);
    await eventually('nothing is left', async () => JSON.stringify(await machinesLeft(served)) === JSON.stringify(nothingLeft));
  }

  it('leave no session, page, listener or timer behind', { timeout: 60_000 }, async (t) => {
    const warnings: string[] = [];
    const hear = (warning: Error): void => void warnings.push(warning.message);
    process.on('warning', hear);
    t.after(() => process.off('warning', hear));
    await fetchMany(20);
    const before = resources();
    await fetchMany(100);
    await eventually(
      'timers and sockets are as few as before',
      () => Object.entries(resources()).every(([kind, count]) => count <= (before[kind] ?? 0) + 4),
      5000,
    ).catch((error: unknown) => assert.fail(`${String(error)}: before ${JSON.stringify(before)}, after ${JSON.stringify(resources())}`));
    assert.equal(served.app.fetches.machines.size, 0);
    assert.deepEqual(
      warnings.filter((text) => text.includes('listeners')),
      [],
    );
    const rows = await served.app.fleet.deps.store.tables<{ machines: { vm_id: string } }>().selectFrom('machines').selectAll().execute();
    assert.deepEqual(rows, []);
  });
});
