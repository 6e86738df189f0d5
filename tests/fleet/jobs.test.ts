/** Jobs of a fleet: what waits at one worker is run by all, and what a worker leaves is run by another. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { cancelJob, fetchPage, getJob, grantCredits, inspect, runAgent, type JobResponse } from '@berth/contract';
import { startSite, type Site } from '../fetch-site.ts';
import { eventually, jobIdOf } from '../harness.ts';
import { hangingUrl } from '../contract/session-states.ts';
import { startFleet, type TestFleet } from './fleet.ts';

const open = { concurrency_limit: null, creates_per_minute: null, requests_per_minute: null, max_session_seconds: 900, tab_limit: null };

describe('jobs of a fleet', () => {
  const folder = mkdtempSync(join(tmpdir(), 'berth-fleet-jobs-'));
  let site: Site;
  let fleet: TestFleet;
  const held: (() => void)[] = [];
  before(async () => {
    site = await startSite();
    const answer = { 'content-type': 'text/html' };
    const page = '<title>A page</title><p>Enough text for a page that needs no browser, and some more of it.</p>';
    site.on('/slow', (response) => void sleep(100).then(() => response.writeHead(200, answer).end(page)));
    site.on('/held', (response) => void held.push(() => response.writeHead(200, answer).end(page)));
    const tiers = join(folder, 'tiers.json');
    writeFileSync(tiers, JSON.stringify({ default_tier: 'open', tiers: { open: { ...open, premium_egress: true } } }));
    const environment = {
      BERTH_TIERS_FILE: tiers,
      BERTH_EGRESS_ALLOW: '127.0.0.1',
      BERTH_CREDITS_ENFORCED: 'true',
      BERTH_JOBS_RUNNING_MAX: '4',
      BERTH_DRAIN_SECONDS: '0',
    };
    fleet = await startFleet({ workers: 3, environment });
  });
  after(async () => {
    for (const end of held.splice(0)) end();
    await fleet.close();
    await site.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const newOwner = async (owner: string, credits: number): Promise<string> => {
    const key = await fleet.worker(0).ownerKey(owner);
    const granted = await fleet.call(0, grantCredits, { body: { owner, amount: credits } });
    assert.ok(granted.status < 300, granted.text);
    return key;
  };
  const submit = async (key: string, path: string, body: Record<string, unknown> = {}, worker = 0): Promise<string> => {
    const request = { url: site.url + path, mode: 'http', async: true, retry: { max_attempts: 1 }, timeout_ms: 180_000, ...body };
    const reply = await fleet.call(worker, fetchPage, { key, body: request });
    assert.equal(reply.status, 200, reply.text);
    return jobIdOf(reply.body);
  };
  const poll = async (key: string, job_id: string, worker = 0): Promise<JobResponse> => {
    for (;;) {
      const { body } = await fleet.call(worker, getJob, { key, params: { job_id }, query: { wait_seconds: '25' } });
      if (body.status !== 'pending') return body;
    }
  };
  interface Tables {
    jobs: { owner_id: string; job_id: string; worker_id: string; status: string; request: Buffer | null };
    credit_journal: { owner_id: string; to_account: string; amount: number };
    wallets: { owner_id: string; held: number };
  }
  const tables = () => fleet.worker(0).app.fleet.deps.store.tables<Tables>();
  const workersOf = async (owner: string): Promise<Set<string>> => {
    const rows = await tables().selectFrom('jobs').select('worker_id').where('owner_id', '=', owner).execute();
    return new Set(rows.map(({ worker_id }) => worker_id));
  };
  /** The charges of an owner for actions, in millionths; nothing is held any more. */
  const charges = async (owner: string): Promise<number[]> => {
    const held = async () => (await tables().selectFrom('wallets').select('held').where('owner_id', '=', owner).executeTakeFirst())?.held;
    await eventually('nothing is held', async () => (await held()) === 0);
    const entries = tables().selectFrom('credit_journal').select('amount').where('owner_id', '=', owner);
    return (await entries.where('to_account', '=', 'revenue:action').execute()).map(({ amount }) => amount);
  };
  const whenEnded = (owner: string): Promise<unknown> =>
    eventually(
      'all have ended',
      async () => {
        await sleep(50);
        const open = tables().selectFrom('jobs').select('worker_id').where('owner_id', '=', owner);
        return (await open.where('status', '=', 'pending').execute()).length === 0;
      },
      60_000,
    );
  const letGo = (): void => {
    for (const end of held.splice(0)) end();
  };

  it('jobs of a fleet that wait at one worker are run by all, each once and charged once', async () => {
    const key = await newOwner('flood', 5);
    const ids = await Promise.all(Array.from({ length: 100 }, () => submit(key, '/held')));
    // The one that has them must not finish them before the others have looked.
    await eventually('every slot of the three is taken', () => held.length === 12, 60_000);
    const letting = setInterval(letGo, 50);
    await whenEnded('flood').finally(() => clearInterval(letting));
    const ends = await Promise.all(ids.map((id, n) => poll(key, id, n % 3)));
    for (const { status, error } of ends) assert.deepEqual([status, error], ['ok', null]);
    assert.equal(site.count('/held'), 100);
    assert.equal((await workersOf('flood')).size, 3);
    assert.deepEqual(
      await charges('flood'),
      Array.from({ length: 100 }, () => 10_000),
    );
  });

  it('jobs of a fleet of one owner leave the job of another prompt', async () => {
    const key = await newOwner('crowd', 5);
    const ids = await Promise.all(Array.from({ length: 40 }, () => submit(key, '/held')));
    await eventually('every slot of the three is taken', () => held.length === 12);
    const other = await newOwner('single', 1);
    const single = await submit(other, '/slow');
    const isOver = async (): Promise<boolean> =>
      (await fleet.call(2, getJob, { key: other, params: { job_id: single } })).body.status !== 'pending';
    let ended = 0;
    for (; ended <= 20 && !(await isOver()); ended += 1) {
      held.shift()?.();
      // Each slot that is free is taken by one of them, or at last by the other's: how long that takes is not counted.
      await eventually('the slot is taken', async () => held.length === 12 || (await isOver()));
    }
    assert.ok(ended <= 20, `it waited for ${ended} of them`);
    assert.equal((await poll(other, single)).status, 'ok');
    const letting = setInterval(letGo, 50);
    await whenEnded('crowd').finally(() => clearInterval(letting));
    for (const { status } of await Promise.all(ids.map((id) => poll(key, id)))) assert.equal(status, 'ok');
  });

  it('jobs of a fleet are cancelled through any worker, and cost nothing', async () => {
    const key = await newOwner('canceller', 1);
    const ids = await Promise.all(Array.from({ length: 7 }, () => submit(key, '/held')));
    await eventually('another worker runs some', async () => held.length === 7 && (await workersOf('canceller')).size > 1);
    for (const [n, job_id] of ids.entries())
      assert.equal((await fleet.call(n % 3, cancelJob, { key, params: { job_id } })).body.error?.code, 'cancelled');
    await eventually('their work has stopped', () => fleet.workers.every(({ app }) => app.jobs.load.slots === 0));
    letGo();
    assert.deepEqual(await charges('canceller'), []);
    for (const id of ids) assert.equal((await poll(key, id, 1)).error?.code, 'cancelled');
  });

  it('jobs of a worker of a fleet that stops are run by others, except those that sent what may change a page', async () => {
    const key = await newOwner('mover', 1);
    const leaving = await fleet.add();
    const index = fleet.workers.indexOf(leaving);
    const read = await submit(key, '/held', {}, index);
    const posted = await submit(key, '/held', { method: 'DELETE' }, index);
    await eventually('both are at the site', () => held.length === 2);
    await fleet.stop(index);
    const { error } = await poll(key, posted);
    assert.deepEqual([error?.code, error?.retryable], ['draining', true]);
    await eventually('another worker fetches it again', () => held.length === 3);
    letGo();
    const { status, session_id } = await poll(key, read);
    assert.deepEqual([status, session_id], ['ok', null], 'plain HTTP needs no session');
    assert.deepEqual(await charges('mover'), [10_000]);
  });

  it('jobs of a fleet that are flows move to other workers while they only read', async () => {
    const key = await newOwner('reader', 1);
    const leaving = await fleet.add();
    const index = fleet.workers.indexOf(leaving);
    const body = { task: 'extract_links', inputs: { url: hangingUrl }, async: true, timeout_ms: 60_000 };
    const { job_id } = (await fleet.call(index, runAgent, { key, body })).body;
    assert.ok(job_id);
    const stage = async () => (await fleet.call(0, getJob, { key, params: { job_id } })).body.stage;
    await eventually('it runs', async () => (await stage()) === 'running');
    await fleet.stop(index);
    await eventually(
      'another worker runs it',
      async () => !(await workersOf('reader')).has(fleet.workerId(index)) && (await stage()) === 'running',
    );
    assert.equal((await fleet.call(1, cancelJob, { key, params: { job_id } })).body.error?.code, 'cancelled');
  });

  it('jobs of a fleet have their requests stored until they end, but none with a secret in it', async () => {
    const key = await newOwner('keeper', 5);
    const url = hangingUrl;
    const proxy = { type: 'external', server: 'http://203.0.113.7:3128', username: 'ada', password: 'hunter2' };
    const steps = [{ type: 'fill', selectors: ['#password'], value: 'hunter2' }];
    const cookies = [
      { name: 'sid', value: 'hunter2', domain: 'site.test', path: '/', expires: -1, httpOnly: true, secure: false, sameSite: 'Lax' },
    ];
    const isStored = async (endpoint: typeof fetchPage | typeof inspect | typeof runAgent, body: object): Promise<boolean> => {
      const reply = await fleet.call(0, endpoint, { key, body: { ...body, async: true, timeout_ms: 60_000 } });
      const job_id = jobIdOf(reply.body);
      const rows = tables().selectFrom('jobs').select('request').where('job_id', '=', job_id);
      const { request } = await rows.executeTakeFirstOrThrow();
      await fleet.call(0, cancelJob, { key, params: { job_id } });
      return request !== null;
    };
    const login = { url, username: 'ada@example.com', password: 'hunter2' };
    for (const [endpoint, plain, ...secret] of [
      [
        fetchPage,
        { url },
        { url, cookies: [{ name: 'sid', value: 'hunter2' }] },
        { url, headers: { authorization: 'hunter2' } },
        { url, proxy },
      ],
      [inspect, { url }, { url, storage_state: { cookies } }, { url, proxy }, { url, actions: steps }],
      [
        runAgent,
        { task: 'extract_links', inputs: { url } },
        { task: 'login', inputs: login },
        { task: 'login', inputs: login, keep_session: true },
        { task: 'custom', inputs: { url, steps: [{ type: 'links' }], secrets: { pin: '2222' } } },
        { task: 'custom', inputs: { url, steps } },
        { task: 'extract_links', inputs: { url }, proxy },
      ],
    ] as const) {
      assert.equal(await isStored(endpoint, plain), true, endpoint.path);
      for (const body of secret) assert.equal(await isStored(endpoint, body), false, JSON.stringify(body));
    }
  });
});
