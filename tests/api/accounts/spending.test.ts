/** Plans and wallets with concurrent calls and during sessions: charged once, and never beyond the limit. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import {
  ErrorBody,
  cancelJob,
  connectSession,
  createSession,
  endSession,
  fetchPage,
  getFetchJob,
  getSession,
  navigate,
  uploadFile,
} from '@berth/contract';
import { ManualClock } from '@berth/lib/clock.ts';
import { bytes, startSite, type Site } from '../../fetch-site.ts';
import { Client, eventually, jobIdOf, type Reply } from '../../harness.ts';
import { browse, startMeteredApp, withoutTime, type MeteredApp, type Owner, type TierName } from '../../prepare/metered-app.ts';
import { openSocket } from '../../raw-http.ts';
import { hangingUrl } from '../../contract/session-states.ts';

/** The fake browser serves it immediately. */
const emptyPage = 'http://status-204.test/';

let paid: MeteredApp;
let site: Site;
before(async () => {
  [paid, site] = await Promise.all([startMeteredApp({ environment: { BERTH_CREDITS_ENFORCED: 'true' } }), startSite()]);
  site.on('/bytes', bytes(Buffer.alloc(50_000, 1), 'application/octet-stream'));
  site.on('/megabyte', bytes(Buffer.alloc(1_000_000, 1), 'application/octet-stream'));
});
after(() => Promise.all([paid.close(), site.close()]));

describe('a job', () => {
  let app: MeteredApp;
  let owner: Owner;
  before(async () => {
    app = await startMeteredApp({ environment: { BERTH_CREDITS_ENFORCED: 'true', BERTH_JOBS_RUNNING_MAX: '1' } });
    owner = await app.newOwner('open', 1);
  });
  after(() => app.close());
  const submit = async (body: Record<string, unknown>): Promise<string> => {
    const reply = await app.call(fetchPage, { key: owner.key, body: { async: true, ...body } });
    assert.equal(reply.status, 200, reply.text);
    return jobIdOf(reply.body);
  };
  const done = async (job_id: string) =>
    (await app.call(getFetchJob, { key: owner.key, params: { job_id }, query: { wait_seconds: '20' } })).body;

  it('a job is charged for its result after it has run', async () => {
    const { status, usage } = await done(await submit({ url: emptyPage }));
    assert.deepEqual([status, usage.actions, usage.credits >= 0.01], ['ok', 1, true]);
    assert.deepEqual([await app.balance(owner.key), await app.held(owner.owner)], [0.99, 0]);
  });

  it('a job costs nothing when it is cancelled, queued or running', async () => {
    const before = await app.account(owner);
    const running = await submit({ url: hangingUrl, timeout_ms: 120_000, actions: [{ type: 'wait', ms: 1 }] });
    await eventually('it is running', () => app.app.jobs.load.slots === 1);
    const waiting = await submit({ url: emptyPage });
    assert.equal(await app.held(owner.owner), 30_000);
    await app.call(cancelJob, { key: owner.key, params: { job_id: waiting } });
    await eventually('the hold of the queued call is released', async () => (await app.held(owner.owner)) === 20_000);
    await app.call(cancelJob, { key: owner.key, params: { job_id: running } });
    await eventually('no hold is left', async () => (await app.held(owner.owner)) === 0);
    assert.deepEqual(withoutTime(await app.account(owner)), withoutTime(before));
    for (const job of [running, waiting])
      assert.deepEqual((await done(job)).usage, { actions: 0, egress_bytes: 0, captcha_solves: 0, credits: 0 });
  });
});

describe('many calls at once', () => {
  const many = <T>(count: number, work: (n: number) => Promise<T>): Promise<T[]> =>
    Promise.all(Array.from({ length: count }, (_, n) => work(n)));
  const tally = (replies: Reply[]): Record<string, number> => {
    const names = replies.map(({ status, body }) => (status < 300 ? String(status) : `${status} ${ErrorBody.parse(body).code}`));
    return Object.fromEntries([...Map.groupBy(names, (name) => name)].map(([name, all]) => [name, all.length]));
  };

  it('many creates at once give one session and one charge at a limit of one, and leave no hold', async () => {
    const owner = await paid.newOwner('single', 100);
    const replies = await many(50, () => paid.call(createSession, { key: owner.key, body: {} }));
    assert.deepEqual(tally(replies), { '201': 1, '429 concurrency_limit': 49 });
    const { usage, balance, held } = await paid.account(owner);
    assert.deepEqual([usage.sessions, balance, held], [1, 99, 0]);
  });

  it('many calls at once spend exactly the remaining credits', async () => {
    const owner = await paid.newOwner('open', 1.25);
    const { session_id } = await paid.create({}, { key: owner.key });
    const file = { name: 'a.txt', data_base64: '' };
    const replies = await many(100, () => paid.call(uploadFile, { key: owner.key, params: { session_id }, body: file }));
    assert.deepEqual(tally(replies), { '201': 25, '402 insufficient_credits': 75 });
    const { usage, balance, held } = await paid.account(owner);
    assert.deepEqual([usage.actions, balance, held], [25, 0, 0]);
  });

  it('many calls at once use exactly the plan’s limit', async () => {
    const owner = await paid.newOwner('few_actions', 2);
    const { session_id } = await paid.create({}, { key: owner.key });
    const file = { name: 'a.txt', data_base64: '' };
    const replies = await many(40, () => paid.call(uploadFile, { key: owner.key, params: { session_id }, body: file }));
    assert.deepEqual(tally(replies), { '201': 3, '402 plan_limit_exceeded': 37 });
    assert.equal((await paid.usage(owner.key)).actions, 3);
  });
});

describe('a start that fails', () => {
  it('a start costs nothing when its caller disconnects', async () => {
    const owner = await paid.newOwner('open', 3);
    paid.runtime.delayBoot(60_000);
    const disconnected = new AbortController();
    const call = new Client(paid.url, owner.key).send(createSession, { body: {}, signal: disconnected.signal });
    await eventually('its price is held', async () => (await paid.held(owner.owner)) === 1_000_000);
    assert.equal(await paid.balance(owner.key), 3);
    disconnected.abort();
    await assert.rejects(call);
    await eventually('no hold is left', async () => (await paid.held(owner.owner)) === 0);
    paid.runtime.delayBoot(0);
    const { usage, balance } = await paid.account(owner);
    assert.deepEqual([usage.sessions, balance], [0, 3]);
  });

  it('a start costs nothing when the session is ended before it is ready', async () => {
    const owner = await paid.newOwner('open', 3);
    paid.runtime.delayBoot(60_000);
    const { session_id, usage } = await paid.create({}, { key: owner.key, query: { wait: 'false' } });
    assert.deepEqual([usage.credits, await paid.held(owner.owner)], [0, 1_000_000]);
    await paid.call(endSession, { key: owner.key, params: { session_id } });
    await eventually('no hold is left', async () => (await paid.held(owner.owner)) === 0);
    paid.runtime.delayBoot(0);
    assert.equal(await paid.balance(owner.key), 3);
  });

  it('a start is charged once when the same create is repeated', async () => {
    const owner = await paid.newOwner('open', 3);
    const request = { key: owner.key, body: {}, headers: { 'idempotency-key': 'one-start' } };
    const replies = [await paid.call(createSession, request), await paid.call(createSession, request)];
    assert.equal(replies[0]?.body.session_id, replies[1]?.body.session_id);
    const { usage, balance } = await paid.account(owner);
    assert.deepEqual([usage.sessions, balance], [1, 2]);
  });
});

describe('traffic', () => {
  it('traffic is equal in the owners’ meters, in their sessions and at the gate', async () => {
    const app = await startMeteredApp();
    const owners = [await app.newOwner(), await app.newOwner()];
    const sessions: { key: string; session_id: string }[] = [];
    for (const { key } of owners) {
      const [ended, live] = [await app.create({}, { key }), await app.create({}, { key })];
      for (const { session_id } of [ended, live, live]) await browse(app, session_id, `${site.url}/bytes`);
      for (const mode of ['http', 'auto']) await app.call(fetchPage, { key, body: { url: `${site.url}/bytes`, mode } });
      await app.call(endSession, { key, params: { session_id: ended.session_id } });
      sessions.push({ key, ...ended }, { key, ...live });
    }
    await Promise.all(owners.map(({ key }) => app.call(fetchPage, { key, body: { url: emptyPage } })));
    await app.flush();
    const byOwner = await Promise.all(owners.map(async ({ key }) => (await app.usage(key)).egress_bytes));
    assert.equal(
      byOwner.reduce((sum, bytes) => sum + bytes, 0),
      await app.gateBytes(),
    );
    for (const bytes of byOwner) assert.ok(bytes > 5 * 50_000 && bytes < 5 * 51_000, `${bytes} bytes`);
    const bySession = await Promise.all(
      sessions.map(async ({ key, session_id }) => (await app.call(getSession, { key, params: { session_id } })).body.usage.egress_bytes),
    );
    for (const [index, bytes] of bySession.entries())
      assert.ok(bytes > (1 + (index % 2)) * 50_000 && bytes < (1 + (index % 2)) * 51_000, `${bytes} bytes`);
    await app.close();
  });
});

describe('a session', () => {
  const clock = new ManualClock(new Date('2026-05-20T12:00:00.000Z'));
  let app: MeteredApp;
  before(async () => {
    app = await startMeteredApp({ clock, environment: { BERTH_CREDITS_ENFORCED: 'true' } });
  });
  after(() => app.close());

  /** A running session with a connected DevTools client. */
  async function running(
    tier: TierName,
    credits: number,
  ): Promise<Owner & { session_id: string; closed: Promise<{ code: number; reason: string }> }> {
    const owner = await app.newOwner(tier, credits);
    const { session_id } = await app.create({ idle_timeout_seconds: 900 }, { key: owner.key });
    const { body } = await app.call(connectSession, { key: owner.key, params: { session_id } });
    const { closed } = await openSocket(body.cdp_url);
    return { ...owner, session_id, closed };
  }
  const readUsage = async ({ key, session_id }: { key: string; session_id: string }) =>
    (await app.call(getSession, { key, params: { session_id } })).body;
  const over = (session: { key: string; session_id: string }) =>
    eventually('it has ended', async () => (await readUsage(session)).ended_at !== null);

  it('a session ends with plan_limit when its owner has no browser seconds left', async () => {
    const session = await running('little_time', 5);
    clock.advance(59_000);
    await app.flush();
    assert.equal((await readUsage(session)).status, 'ready');
    clock.advance(2000);
    await app.flush();
    assert.deepEqual(await session.closed, { code: 4009, reason: 'limit' });
    await over(session);
    clock.advance(60_000);
    const { ended_reason, usage } = await readUsage(session);
    assert.deepEqual([ended_reason, usage.browser_seconds], ['plan_limit', 61]);
    assert.equal((await app.usage(session.key)).browser_seconds, 61, 'nothing is counted after the end');
    const { details } = await app.refuse(createSession, 'plan_limit_exceeded', { key: session.key, body: {} });
    assert.deepEqual(details, { axis: 'browser_seconds', limit: 60, used: 61, required: 1, resets_at: '2026-06-01T00:00:00.000Z' });
  });

  it('a session ends with plan_limit when its owner has no traffic left', async () => {
    const session = await running('little_egress', 5);
    await browse(app, session.session_id, `${site.url}/bytes`);
    await app.flush();
    assert.deepEqual(await session.closed, { code: 4009, reason: 'limit' });
    await over(session);
    const { ended_reason, usage } = await readUsage(session);
    assert.equal(ended_reason, 'plan_limit');
    assert.equal(usage.egress_bytes, (await app.usage(session.key)).egress_bytes);
  });

  it('a session ends with credits_exhausted at a balance of exactly zero', async () => {
    const session = await running('open', 1.1);
    await browse(app, session.session_id, `${site.url}/megabyte`);
    await app.flush();
    assert.deepEqual(await session.closed, { code: 4010, reason: 'credits_exhausted' });
    await over(session);
    assert.equal((await readUsage(session)).ended_reason, 'credits_exhausted');
    const { balance, held } = await app.account(session);
    assert.deepEqual([balance, held], [0, 0]);
  });

  it('a session continues when only its initial plan or only the current plan is exhausted', async () => {
    const [downgraded, upgraded] = [await running('open', 5), await running('little_time', 5)];
    await app.ownerKey(downgraded.owner, 'no_time');
    await app.ownerKey(upgraded.owner, 'open');
    clock.advance(120_000);
    await app.flush();
    for (const session of [downgraded, upgraded]) assert.equal((await readUsage(session)).status, 'ready');
    await app.refuse(createSession, 'plan_limit_exceeded', { key: downgraded.key, body: {} });
    assert.equal((await app.create({}, { key: upgraded.key })).status, 'ready');
  });

  it('a session reports its charged usage, also after its end', async () => {
    const session = await running('open', 10);
    const params = { session_id: session.session_id };
    await app.call(navigate, { key: session.key, params, body: { url: 'http://site.test/' } });
    await browse(app, session.session_id, `${site.url}/megabyte`);
    clock.advance(10_900);
    await app.call(endSession, { key: session.key, params });
    await eventually('nothing of it remains', () => !app.app.sessions.live.has(session.session_id));
    const { usage } = await readUsage(session);
    assert.deepEqual([usage.actions, usage.browser_seconds], [1, 10]);
    const { egress_bytes, sessions, actions } = await app.usage(session.key);
    assert.deepEqual([egress_bytes, sessions, actions], [usage.egress_bytes, 1, 1]);
    assert.equal(usage.credits, (1_000_000 + 10_000 + Math.floor(usage.egress_bytes / 5)) / 1e6);
    await app.flush();
    assert.equal(await app.balance(session.key), (10_000_000 - usage.credits * 1e6) / 1e6);
  });
});
