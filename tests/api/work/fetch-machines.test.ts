/** Shared fetch machines: ownership, lifetime and clean-up. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import {
  createSession,
  endSession,
  fetchPage,
  getFetchJob,
  getSession,
  getUsage,
  listAllSessions,
  listSessions,
  type FetchResponse,
} from '@berth/contract';
import { eventually, jobIdOf, startApp, type Reply, type TestApp } from '../../harness.ts';
import { auditTrailOf, hangingUrl, machineOf, machinesLeft, nothingLeft } from '../../contract/session-states.ts';
import { ManualClock } from '@berth/lib/clock.ts';

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
    two: { ...tier, concurrency_limit: 2, creates_per_minute: null },
    single: { ...tier, concurrency_limit: 1 },
    brief: { ...tier, max_session_seconds: 30 },
  };
  writeFileSync(join(folder, 'tiers.json'), JSON.stringify({ default_tier: 'open', tiers }));
  const proxies = { managed: [{ server: 'http://127.0.0.1:9' }] };
  writeFileSync(
    join(folder, 'regions.json'),
    JSON.stringify({ regions: ['local', 'other'].map((code) => ({ code, name: code, proxies })) }),
  );
  const environment = { BERTH_TIERS_FILE: join(folder, 'tiers.json'), BERTH_REGIONS_FILE: join(folder, 'regions.json') };
  served = await startApp({ clock, environment });
});
after(async () => {
  await served.close();
  rmSync(folder, { recursive: true });
});

let owners = 0;
const someKey = (tier?: string): Promise<string> => served.ownerKey(`owner-${++owners}`, tier);

/** An empty page that loads immediately. */
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
/** The machine of a fetch. */
async function machineFor(body: Record<string, unknown> = {}, request: Request = {}): Promise<string> {
  const { session_id, status } = await fetched(body, request);
  assert.equal(status, 'ok');
  return session_id ?? assert.fail('no browser fetched');
}

/** Starts hanging fetches, each on its own page; `leave` disconnects their callers. */
async function hangFetches(
  count: number,
  { key, app = served }: { key?: string; app?: TestApp } = {},
): Promise<{ disconnect: () => Promise<void>; machines: () => string[] }> {
  const leaving = new AbortController();
  const asOwner = key === undefined ? {} : { key };
  const [before, drivingBefore] = [hangingOf(app), drivingOf(app)];
  const fetchBody = { url: hangingUrl, timeout_ms: 100_000, retry: { max_attempts: 1 } };
  const calls = Array.from({ length: count }, () =>
    app.call(fetchPage, { ...asOwner, body: fetchBody, signal: leaving.signal }).catch(() => null),
  );
  await eventually('the fetches hang', () => hangingOf(app) === before + count);
  const disconnect = async (): Promise<void> => {
    leaving.abort();
    await Promise.all(calls);
    await eventually('the fetches have ended', () => drivingOf(app) === drivingBefore);
  };
  return {
    disconnect,
    machines: () => [...app.app.sessions.live.values()].filter(({ driving }) => driving > 0).map(({ record }) => record.sessionId),
  };
}
const drivingOf = ({ app }: TestApp): number => [...app.sessions.live.values()].reduce((sum, { driving }) => sum + driving, 0);
/** Their pages are open, so the time of their browsers is counted. */
const hangingOf = ({ runtime }: TestApp): number =>
  [...runtime.machines.values()].reduce((sum, { browser }) => sum + browser.hangingPages, 0);

/** Advances the mocked timers. */
async function pass(seconds: number): Promise<void> {
  clock.advance(seconds * 1000);
  served.app.sessions.timers.nudge();
  await served.app.sessions.timers.idle();
}
const waitForEnd = (sessionId: string) => eventually('the machine has ended', () => !served.app.sessions.live.has(sessionId));

describe('a fetch machine', () => {
  it('a fetch machine serves consecutive fetches of its owner', async () => {
    const key = await someKey();
    const { booted } = served.runtime.counts;
    const first = await machineFor({}, { key });
    for (const url of [`${emptyPage}next`, 'http://status-205.test/', 'http://status-304.test/'])
      assert.equal(await machineFor({ url }, { key }), first);
    assert.equal(served.runtime.counts.booted - booted, 1);
  });

  it('a fetch machine serves concurrent fetches of its owner only', async () => {
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

  it('a fetch machine is shared by all of its owner’s keys', async () => {
    const [one, other] = await Promise.all([served.ownerKey('with-two-keys'), served.ownerKey('with-two-keys')]);
    assert.equal(await machineFor({}, { key: one }), await machineFor({}, { key: other }));
  });

  it('a fetch machine counts no session, and browser time only while it has a page', async () => {
    const key = await someKey();
    const usage = async () => (await served.call(getUsage, { key })).body.usage;
    const { disconnect, machines } = await hangFetches(1, { key });
    const [sessionId = ''] = machines();
    clock.advance(5000);
    await disconnect();
    clock.advance(30_000);
    assert.deepEqual([(await usage()).sessions, (await usage()).browser_seconds], [0, 5]);
    const { body } = await served.call(getSession, { key, params: { session_id: sessionId } });
    assert.deepEqual([body.purpose, body.usage.browser_seconds], ['fetch', 5]);
  });

  it('a fetch machine is of the requested kind, and shared with fetches of that kind only', async () => {
    const key = await someKey();
    const kindOf = async (sessionId: string) => (await served.call(getSession, { key, params: { session_id: sessionId } })).body.kind;
    const [plain, headed] = [await machineFor({}, { key }), await machineFor({ kind: 'full_browser' }, { key })];
    assert.deepEqual([await kindOf(plain), await kindOf(headed)], ['headless', 'full_browser']);
    assert.equal(await machineFor({ kind: 'full_browser' }, { key }), headed);
    assert.deepEqual(
      [plain, headed].map((id) => machineOf(served, id).kind),
      ['shell', 'full_browser'],
    );
  });

  it('a fetch machine is not in the audit log', async () => {
    const key = await someKey();
    const sessionId = await machineFor({}, { key });
    await served.call(endSession, { key, params: { session_id: sessionId } });
    await waitForEnd(sessionId);
    assert.deepEqual(await auditTrailOf(served, sessionId), []);
  });

  it('fetch machines are separate for each egress', async () => {
    const key = await someKey();
    const proxy = { type: 'external', server: 'http://proxy.example:3128' };
    const fetchBodies = [{}, { block_ads: true }, { region: 'other' }, { proxy }, { proxy: { ...proxy, username: 'u' } }];
    const machines = await Promise.all(fetchBodies.map((fetchBody) => machineFor(fetchBody, { key })));
    assert.equal(new Set(machines).size, fetchBodies.length);
    assert.deepEqual(await Promise.all(fetchBodies.map((fetchBody) => machineFor(fetchBody, { key }))), machines);
    assert.equal(await machineFor({ region: 'local' }, { key }), machines[0], 'the default region by its name is the same');
  });

  it('a fetch machine is listed only when asked for', async () => {
    const owner = 'with-both';
    const key = await served.ownerKey(owner);
    const fetching = await machineFor({}, { key });
    const { session_id: own } = await served.create({}, { key });
    const idsOf = async (query: Record<string, string>) =>
      (await served.call(listSessions, { key, query })).body.map(({ session_id }) => session_id);
    assert.deepEqual([await idsOf({}), await idsOf({ purpose: 'session' }), await idsOf({ purpose: 'fetch' })], [[own], [own], [fetching]]);
    const all = async (query: Record<string, string>) =>
      (await served.call(listAllSessions, { query: { owner, ...query } })).body.map(({ session_id }) => session_id).toSorted();
    assert.deepEqual([await all({}), await all({ purpose: 'fetch' })], [[own, fetching].toSorted(), [fetching]]);
    const [issue] = await served.issues(listSessions, { key, query: { purpose: 'all' } });
    assert.deepEqual([issue?.loc, issue?.type], [['query', 'purpose'], 'literal_error']);
  });

  it('a fetch machine is marked as such and not counted as a create', async () => {
    const key = await someKey('once');
    const session_id = await machineFor({}, { key });
    const { body } = await served.call(getSession, { key, params: { session_id } });
    assert.deepEqual([body.purpose, body.status, body.metadata], ['fetch', 'ready', {}]);
    assert.equal((await served.create({}, { key })).purpose, 'session');
    await served.refuse(createSession, 'create_rate_limit', { key, body: {} });
    assert.equal(await machineFor({}, { key }), session_id);
  });

  it('a fetch machine does not count towards the concurrency limit', async () => {
    const key = await someKey('two');
    const sessions = [
      await machineFor({}, { key }),
      (await served.create({}, { key })).session_id,
      (await served.create({}, { key })).session_id,
    ];
    const { details } = await served.refuse(createSession, 'concurrency_limit', { key, body: {} });
    assert.deepEqual(details, { limit: 2, active: 2 });
    assert.equal(await machineFor({}, { key }), sessions[0]);
    await machineFor({ block_ads: true }, { key });
  });

  it('an idle fetch machine gives way when the owner’s plan allows no more of them', async () => {
    const key = await someKey('two');
    const [first, second] = [await machineFor({}, { key }), await machineFor({ block_ads: true }, { key })];
    const third = await machineFor({ region: 'other' }, { key });
    await waitForEnd(first);
    assert.deepEqual([await machineFor({ block_ads: true }, { key }), await machineFor({ region: 'other' }, { key })], [second, third]);
  });

  it('a fetch machine is not taken from a running fetch', async () => {
    const key = await someKey('single');
    const { disconnect } = await hangFetches(1, { key });
    const { reply } = await served.refuse(fetchPage, 'no_capacity', { key, body: { url: emptyPage, block_ads: true } });
    assert.ok(Number(reply.headers.get('retry-after')) >= 1);
    await disconnect();
    await machineFor({ block_ads: true }, { key });
  });

  it('a fetch machine starts on plans with short sessions, and accepts no fetch that would outlast it', async () => {
    const key = await someKey('brief');
    const session_id = await machineFor({}, { key });
    const { body } = await served.call(getSession, { key, params: { session_id } });
    assert.deepEqual([body.timeout_seconds, body.idle_timeout_seconds], [30, 30]);
    await pass(15);
    assert.equal(await machineFor({}, { key }), session_id);
    await pass(2);
    assert.notEqual(await machineFor({}, { key }), session_id);
  });

  it('a fetch machine is reused when the caller that started it disconnects', async () => {
    const key = await someKey();
    const leaving = new AbortController();
    served.runtime.delayBoot(300);
    const { booted } = served.runtime.counts;
    // Machines of earlier tests may be ending.
    const before = new Set(served.app.sessions.live.keys());
    const call = served.call(fetchPage, { key, body: { url: emptyPage }, signal: leaving.signal });
    await eventually('the machine starts', () => [...served.app.sessions.live.keys()].some((id) => !before.has(id)));
    leaving.abort();
    await assert.rejects(call);
    await machineFor({}, { key });
    served.runtime.delayBoot(0);
    assert.equal(served.runtime.counts.booted - booted, 1);
  });

  it('a fetch machine closes the page of a finished fetch', async () => {
    const key = await someKey();
    const session_id = await machineFor({}, { key });
    for (let n = 0; n < 5; n += 1) await machineFor({ url: emptyPage + n }, { key });
    const { browser } = machineOf(served, session_id);
    await eventually('its own tab and one prepared page remain', () => browser.pageUrls.join() === 'about:blank,about:blank');
  });

  it('a fetch machine closes the page of a disconnected caller', async () => {
    const key = await someKey();
    const session_id = await machineFor({}, { key });
    const { disconnect, machines } = await hangFetches(3, { key });
    assert.deepEqual(machines(), [session_id]);
    await disconnect();
    const { browser } = machineOf(served, session_id);
    await eventually('the pages are closed', () => browser.pageUrls.every((url) => url === 'about:blank') && browser.pageUrls.length === 2);
  });
});

describe('the end of a fetch machine', () => {
  it('a fetch machine ends after two hundred fetches, and the next fetch gets a new machine', async () => {
    const key = await someKey();
    const first = await machineFor({}, { key });
    for (let n = 0; n < 49; n += 1)
      assert.deepEqual(new Set(await Promise.all([1, 2, 3, 4].map(() => machineFor({}, { key })))), new Set([first]));
    for (let n = 0; n < 3; n += 1) assert.equal(await machineFor({}, { key }), first);
    await waitForEnd(first);
    assert.notEqual(await machineFor({}, { key }), first);
  });

  it('a fetch machine ends after eight minutes, even when it is busy', async () => {
    const key = await someKey();
    const first = await machineFor({}, { key });
    for (let seconds = 50; seconds <= 450; seconds += 50) {
      await pass(50);
      assert.equal(await machineFor({}, { key }), first);
    }
    await pass(31);
    assert.notEqual(await machineFor({}, { key }), first);
    await waitForEnd(first);
  });

  it('a fetch machine ends at its maximum age, whoever fetches next', async () => {
    const [key, other] = await Promise.all([someKey(), someKey()]);
    const first = await machineFor({}, { key });
    for (let minute = 1; minute <= 9; minute += 1) {
      // Kept busy by something other than a fetch.
      served.app.sessions.live.get(first)?.touch();
      await pass(55);
    }
    assert.ok(served.app.sessions.live.has(first));
    await machineFor({}, { key: other });
    await waitForEnd(first);
    const { body } = await served.call(getSession, { key, params: { session_id: first } });
    assert.deepEqual([body.status, body.ended_reason], ['ended', 'requested']);
  });

  it('a fetch machine ends after an idle minute', async () => {
    const key = await someKey();
    const session_id = await machineFor({}, { key });
    await pass(59);
    assert.ok(served.app.sessions.live.has(session_id));
    await pass(1);
    await waitForEnd(session_id);
    const { body } = await served.call(getSession, { key, params: { session_id } });
    assert.equal(body.ended_reason, 'idle_timeout');
    assert.notEqual(await machineFor({}, { key }), session_id);
  });

  it('the end of a fetch machine waits for running fetches', async () => {
    const key = await someKey();
    const first = await machineFor({}, { key });
    const { disconnect } = await hangFetches(1, { key });
    await pass(9 * 60);
    assert.notEqual(await machineFor({}, { key }), first, 'it takes no new ones');
    assert.ok(served.app.sessions.live.has(first));
    await disconnect();
    await waitForEnd(first);
  });

  it('the end of fetch machines leaves no machine running', async () => {
    await pass(60);
    await eventually('nothing is left', async () => JSON.stringify(await machinesLeft(served)) === JSON.stringify(nothingLeft));
    assert.equal(served.app.fetches.machines.size, 0);
    const { booted, destroyed } = served.runtime.counts;
    assert.equal(booted, destroyed);
  });
});

describe('a lost fetch machine', () => {
  it('a lost fetch machine is replaced for the next fetch', async () => {
    const key = await someKey();
    const first = await machineFor({}, { key });
    machineOf(served, first).crash();
    await waitForEnd(first);
    assert.notEqual(await machineFor({}, { key }), first);
  });

  it('a fetch machine is replaced when its browser opens no page any more', async () => {
    const key = await someKey();
    const lost = await machineFor({}, { key });
    const release = machineOf(served, lost).browser.delayTabs();
    // One page may have been opened ahead.
    const machines = [await machineFor({}, { key }), await machineFor({}, { key })];
    assert.notEqual(machines[1], lost);
    release();
    await waitForEnd(lost);
    assert.equal(await machineFor({}, { key }), machines[1]);
  });

  it('a fetch machine is replaced when its owner ended it', async () => {
    const key = await someKey();
    const session_id = await machineFor({}, { key });
    await served.call(endSession, { key, params: { session_id } });
    assert.notEqual(await machineFor({}, { key }), session_id);
  });

  it('a fetch whose machine is lost is retried in another machine', async () => {
    const key = await someKey();
    const session_id = await machineFor({}, { key });
    // Also on a busy machine enough is left for the second attempt.
    const call = fetched({ url: hangingUrl, timeout_ms: 6000 }, { key });
    await eventually('the fetch hangs', () => hangingOf(served) === 1);
    machineOf(served, session_id).crash();
    const { status, error, attempts, session_id: last } = await call;
    assert.deepEqual(
      [status, error?.code, attempts.map(({ error_code: code }) => code)],
      ['error', 'timeout', ['session_lost', 'timeout']],
    );
    assert.notEqual(last, session_id);
  });

  it('a fetch machine is reported as lost when no attempt is left', async () => {
    const key = await someKey();
    const session_id = await machineFor({}, { key });
    const call = fetched({ url: hangingUrl, retry: { max_attempts: 1 } }, { key });
    await eventually('the fetch hangs', () => hangingOf(served) === 1);
    machineOf(served, session_id).crash();
    const { status, error, session_id: reported } = await call;
    assert.deepEqual([status, error?.code, error?.retryable, reported], ['error', 'session_lost', true, session_id]);
  });

  it('a lost fetch machine of a job is replaced, and the job finishes', async () => {
    const key = await someKey();
    const { body } = await served.call(fetchPage, { key, body: { url: emptyPage, async: true } });
    const job_id = jobIdOf(body);
    const [session_id = ''] = job_id.split('.');
    await served.app.sessions.live.get(session_id)?.started;
    served.runtime.machines.get(served.app.sessions.live.get(session_id)?.machine?.id ?? '')?.crash();
    const done = await served.call(getFetchJob, { key, params: { job_id }, query: { wait_seconds: '25' } });
    assert.deepEqual([done.body.status, done.body.status_code], ['ok', 204]);
  });
});

describe('pages', () => {
  it('pages are limited per fetch machine, and the others are queued', async () => {
    const key = await someKey();
    const { disconnect, machines } = await hangFetches(4, { key });
    assert.equal(machines().length, 1);
    const waiting = machineFor({}, { key });
    const other = await machineFor({}, { key: await someKey() });
    assert.notEqual(other, machines()[0], 'other owners do not wait');
    await disconnect();
    await waiting;
  });

  it('pages are spread over the allowed number of fetch machines', async () => {
    const wide = await startApp({ environment: { BERTH_FETCH_PAGES_MAX: '1', BERTH_FETCH_MACHINES_MAX: '3' } });
    const { disconnect, machines } = await hangFetches(3, { app: wide });
    assert.equal(machines().length, 3);
    await disconnect();
    await Promise.all([1, 2, 3, 4, 5, 6].map(() => fetched({}, {}, wide)));
    assert.equal(wide.runtime.counts.booted, 3);
    await wide.close();
  });

  it('fetches are refused immediately when the queue for pages is full', async () => {
    const narrow = await startApp({ environment: { BERTH_FETCH_PAGES_MAX: '1' } });
    const { disconnect } = await hangFetches(1, { app: narrow });
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
    await disconnect();
    await narrow.close();
  });
});

describe('a worker that is stopped', () => {
  it('a worker that is stopped ends running fetches and leaves no machine', async () => {
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
  /** Timers and sockets of this process by kind, including the test's own connections, whose number is constant. */
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

  it('a hundred fetches leave no session, page, listener or timer', async (t) => {
    const warnings: string[] = [];
    const onWarning = (warning: Error): void => void warnings.push(warning.message);
    process.on('warning', onWarning);
    t.after(() => process.off('warning', onWarning));
    await fetchMany(20);
    const before = resources();
    await fetchMany(100);
    await eventually('timers and sockets are as few as before', () =>
      Object.entries(resources()).every(([kind, count]) => count <= (before[kind] ?? 0) + 4),
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
