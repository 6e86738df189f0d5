import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { cancelJob, fetchPage, getFetchJob, getJob, waitSecondsMax, type FetchResponse } from '@berth/contract';
import { html, silence, startSite, type Site } from '../fetch-site.ts';
import { comparable, eventually, startApp, type Request, type TestApp } from '../harness.ts';
import { ManualClock } from '../../packages/server/src/lib/clock.ts';
import { newId } from '../../packages/server/src/lib/ids.ts';

const clock = new ManualClock();
let served: TestApp;
let site: Site;
before(async () => {
  site = await startSite();
  served = await startApp({ clock, environment: { BERTH_EGRESS_ALLOW: '127.0.0.1', BERTH_JOBS_RUNNING: '2', BERTH_JOBS_QUEUED: '8' } });
});
after(async () => {
  await served.close();
  await site.close();
});

const untilDone = { wait_seconds: String(waitSecondsMax) };

/** Takes a fetch on as a job. */
async function submit(body: Record<string, unknown>, request: Pick<Request<typeof fetchPage>, 'key' | 'headers'> = {}): Promise<string> {
  const reply = await served.call(fetchPage, { ...request, body: { mode: 'http', async: true, ...body } });
  assert.deepEqual([reply.status, reply.body.status], [200, 'pending'], reply.text);
  return reply.body.job_id;
}

async function poll(job_id: string, query: Record<string, string> = untilDone): Promise<FetchResponse> {
  const reply = await served.call(getFetchJob, { params: { job_id }, query });
  assert.equal(reply.status, 200, reply.text);
  return reply.body;
}

/** A page that comes when it is let. */
function slowPage(path: string): { url: string; end: () => void } {
  const waiting: (() => void)[] = [];
  const url = site.inTurn(path, (response, asked) => void waiting.push(() => html('<title>There</title>')(response, asked)));
  return { url, end: () => waiting.splice(0).forEach((answer) => answer()) };
}

describe('200', () => {
  it('tells a fetch that runs, and then all of what it came to, in the shape of an answer at once', async () => {
    const { url, end } = slowPage('/slow');
    const job_id = await submit({ url, metadata: { job: 'tides' } });
    await eventually('the page is asked for', () => site.count('/slow') === 1);
    const running = await poll(job_id, {});
    assert.deepEqual(
      [running.status, running.job_id, running.url, running.metadata, running.finished_at],
      ['pending', job_id, url, { job: 'tides' }, null],
    );
    clock.advance(1500);
    end();
    const done = await poll(job_id);
    assert.deepEqual([done.status, done.title, done.html, done.resolved_by], ['ok', 'There', '<title>There</title>', 'http:direct']);
    assert.deepEqual([done.job_id, done.poll_url, done.metadata], [job_id, `/v1/fetch/job/${job_id}`, { job: 'tides' }]);
    assert.deepEqual([done.created_at, done.finished_at], [running.created_at, clock.now().toISOString()]);
    const { body: atOnce } = await served.call(fetchPage, {
      body: { url: site.inTurn('/slow', html('<title>There</title>')), mode: 'http' },
    });
    assert.deepEqual(Object.keys(done).toSorted(), Object.keys(atOnce).toSorted());
  });

  it('is the same answer however often it is asked for', async () => {
    const job_id = await submit({ url: site.inTurn('/once', html('x')) });
    const first = await poll(job_id);
    assert.deepEqual([await poll(job_id), await poll(job_id, {})], [first, first]);
    assert.equal(site.count('/once'), 1);
  });

  it('comes as soon as the fetch is done, and at the latest when the time to wait is over', async () => {
    const { url, end } = slowPage('/awaited');
    const job_id = await submit({ url });
    assert.equal((await poll(job_id, { wait_seconds: '1' })).status, 'pending');
    const startMs = performance.now();
    const waiting = poll(job_id);
    end();
    assert.equal((await waiting).status, 'ok');
    assert.ok(performance.now() - startMs < 5000);
  });

  it('tells a site that refuses, one that fails and one that cannot be reached as an answer at once would', async () => {
    const key = await served.ownerKey('unlucky');
    const ask = async (body: Record<string, unknown>): Promise<[string, number | null, string | undefined]> => {
      const job_id = await submit({ ...body, retry: { max_attempts: 1 } }, { key });
      const { body: reply } = await served.call(getFetchJob, { key, params: { job_id }, query: untilDone });
      assert.ok(reply.finished_at !== null && reply.attempts.length === 1);
      return [reply.status, reply.status_code, reply.error?.code];
    };
    assert.deepEqual(await ask({ url: site.inTurn('/blocked', html('Slow down', { status: 429 })) }), ['blocked', 429, undefined]);
    assert.deepEqual(await ask({ url: site.inTurn('/fails', html('Oops', { status: 500 })) }), ['ok', 500, undefined]);
    assert.deepEqual(await ask({ url: 'http://10.0.0.1/' }), ['error', null, 'navigation_failed']);
    assert.deepEqual(await ask({ url: site.inTurn('/silent', silence), timeout_ms: 1000 }), ['error', null, 'timeout']);
  });

  it('tells a fetch that was given up, and the site is not waited for', async () => {
    const job_id = await submit({ url: site.inTurn('/given-up', silence) });
    await eventually('the page is asked for', () => site.count('/given-up') === 1);
    const waiting = poll(job_id);
    assert.equal((await served.call(cancelJob, { params: { job_id } })).status, 200);
    const reply = await waiting;
    assert.deepEqual([reply.status, reply.error?.code, reply.html, reply.attempts], ['error', 'cancelled', null, []]);
    assert.ok(reply.finished_at);
    await eventually('its place is free', () => served.app.jobs.load.places === 0);
  });

  it('is of the same job that the general endpoint tells', async () => {
    const job_id = await submit({ url: site.inTurn('/general', html('x')) });
    const { poll_url, ...result } = await poll(job_id);
    const { body: job } = await served.call(getJob, { params: { job_id } });
    assert.deepEqual([job.kind, job.status, job.stage, job.session_id], ['fetch', 'ok', 'done', job_id.split('.')[0]]);
    assert.deepEqual({ ...job.result, poll_url }, { ...result, poll_url });
    assert.deepEqual(job.usage, result.usage);
  });

  it('comes of every fetch in its turn, more than can run at once', async () => {
    const urls = Array.from({ length: 8 }, (_, n) => site.inTurn(`/turn-${n}`, html(`<title>${n}</title>`)));
    const ids = await Promise.all(urls.map((url) => submit({ url })));
    const replies = await Promise.all(ids.map((id) => poll(id)));
    assert.deepEqual(
      replies.map(({ title }) => title),
      ['0', '1', '2', '3', '4', '5', '6', '7'],
    );
  });

  it('is one job for a fetch that was sent twice under one Idempotency-Key', async () => {
    const headers = { 'idempotency-key': 'the-fetch' };
    const body = { url: site.inTurn('/twice', html('x')) };
    const [first, second] = [await submit(body, { headers }), await submit(body, { headers })];
    assert.equal(first, second);
    assert.equal((await poll(first)).status, 'ok');
    assert.equal(site.count('/twice'), 1);
  });

  it('tells the machine that will fetch before it has fetched', async () => {
    served.runtime.delayBoot(50);
    const job_id = await submit({ url: 'http://status-204.test/', mode: 'browser' });
    served.runtime.delayBoot(0);
    const running = await poll(job_id, {});
    assert.equal(running.session_id, job_id.split('.')[0]);
    const done = await poll(job_id);
    assert.deepEqual([done.status, done.status_code, done.session_id], ['ok', 204, running.session_id]);
  });
});

describe('404 job_not_found', () => {
  it('is the answer to an unknown, a malformed and a foreign id alike', async () => {
    const key = await served.ownerKey('stranger');
    const foreign = await submit({ url: site.inTurn('/theirs', html('x')) }, { key });
    const mine = await submit({ url: site.inTurn('/mine', html('x')) });
    await poll(mine);
    const ask = async (job_id: string) =>
      comparable((await served.refuse(getFetchJob, 'job_not_found', { params: { job_id }, query: untilDone })).reply);
    const expected = await ask(`${newId('ses')}.00000000-0000-4000-8000-000000000000`);
    const mixed = `${mine.split('.')[0]}.${foreign.split('.')[1]}`;
    for (const id of [
      foreign,
      mixed,
      'nothing',
      newId('ses'),
      `${mine}.x`,
      mine.toUpperCase(),
      '../x.y',
      "ses_' OR 1=1 --.x",
      '💥',
      'x'.repeat(3000),
    ])
      assert.equal(await ask(id), expected, id);
    assert.equal((await served.call(getFetchJob, { key, params: { job_id: foreign }, query: untilDone })).body.status, 'ok');
  });
});

describe('410 job_expired', () => {
  it('is the answer to its owner, a day after the fetch was done', async () => {
    const job_id = await submit({ url: site.inTurn('/expires', html('x')) });
    await poll(job_id);
    clock.advance(24 * 3_600_000 - 1);
    assert.equal((await poll(job_id)).status, 'ok');
    clock.advance(1);
    await served.refuse(getFetchJob, 'job_expired', { params: { job_id } });
    await served.refuse(getFetchJob, 'job_not_found', { key: await served.ownerKey('nosy'), params: { job_id } });
  });
});

describe('422', () => {
  it('is the answer to a time to wait that is none', async () => {
    for (const [query, type] of [
      [{ wait_seconds: '-1' }, 'greater_than_equal'],
      [{ wait_seconds: String(waitSecondsMax + 1) }, 'less_than_equal'],
      [{ wait_seconds: '1.5' }, 'int_parsing'],
      [{ wait_ms: '1' }, 'extra_forbidden'],
    ] as const) {
      const [fault] = await served.faults(getFetchJob, { params: { job_id: 'any' }, query });
      assert.deepEqual([fault?.loc[0], fault?.type], ['query', type]);
    }
  });
});
