import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { cancelJob, fetchPage, getFetchJob, getJob, inspect, waitSecondsMax, type FetchResponse } from '@berth/contract';
import { html, silence, startSite, type Site } from '../../fetch-site.ts';
import { assertSoon, comparable, eventually, jobIdOf, type Request, startApp, type TestApp } from '../../harness.ts';
import { ManualClock } from '@berth/lib/clock.ts';
import { newId } from '@berth/lib/ids.ts';

const clock = new ManualClock();
let served: TestApp;
let site: Site;
before(async () => {
  site = await startSite();
  served = await startApp({
    clock,
    environment: { BERTH_EGRESS_ALLOW: '127.0.0.1', BERTH_JOBS_RUNNING_MAX: '2', BERTH_JOBS_QUEUED_MAX: '8' },
  });
});
after(async () => {
  await served.close();
  await site.close();
});

const untilDone = { wait_seconds: String(waitSecondsMax) };

/** Starts an asynchronous fetch. */
async function submit(body: Record<string, unknown>, request: Pick<Request<typeof fetchPage>, 'key' | 'headers'> = {}): Promise<string> {
  const reply = await served.call(fetchPage, { ...request, body: { mode: 'http', async: true, ...body } });
  assert.deepEqual([reply.status, reply.body.status], [200, 'pending'], reply.text);
  return jobIdOf(reply.body);
}

async function poll(job_id: string, query: Record<string, string> = untilDone): Promise<FetchResponse> {
  const reply = await served.call(getFetchJob, { params: { job_id }, query });
  assert.equal(reply.status, 200, reply.text);
  return reply.body;
}

/** A page that is served on command. */
function slowPage(path: string): { url: string; isAsked: () => boolean; end: () => void } {
  const waiting: (() => void)[] = [];
  const url = site.sequence(path, (response, received) => void waiting.push(() => html('<title>There</title>')(response, received)));
  return { url, isAsked: () => waiting.length > 0, end: () => waiting.splice(0).forEach((answer) => answer()) };
}

describe('200', () => {
  it('GET /v1/fetch/job/{job_id} returns a running fetch, and then its result in the synchronous format', async () => {
    const { url, isAsked, end } = slowPage('/slow');
    const job_id = await submit({ url, metadata: { job: 'tides' } });
    await eventually('the page is requested', isAsked);
    const running = await poll(job_id, {});
    assert.deepEqual(
      [running.status, running.job_id, running.url, running.metadata, running.finished_at],
      ['pending', job_id, url, { job: 'tides' }, null],
    );
    clock.advance(1500);
    end();
    const done = await poll(job_id);
    assert.deepEqual(
      [done.status, done.title, done.html, done.resolved_by],
      ['ok', 'There', '<title>There</title>', { mode: 'http', strategy: 'direct', reason: null }],
    );
    assert.deepEqual([done.job_id, done.poll_url, done.metadata], [job_id, `${served.url}/v1/fetch/job/${job_id}`, { job: 'tides' }]);
    assert.deepEqual([done.created_at, done.finished_at], [running.created_at, clock.now().toISOString()]);
    const { body: atOnce } = await served.call(fetchPage, {
      body: { url: site.sequence('/slow', html('<title>There</title>')), mode: 'http' },
    });
    assert.deepEqual(Object.keys(done).toSorted(), Object.keys(atOnce).toSorted());
  });

  it('GET /v1/fetch/job/{job_id} returns the same result on every poll', async () => {
    const job_id = await submit({ url: site.sequence('/once', html('x')) });
    const first = await poll(job_id);
    assert.deepEqual([await poll(job_id), await poll(job_id, {})], [first, first]);
    assert.equal(site.count('/once'), 1);
  });

  it('GET /v1/fetch/job/{job_id} answers as soon as the fetch finishes, at the latest after wait_seconds', async () => {
    const { url, isAsked, end } = slowPage('/awaited');
    const job_id = await submit({ url });
    await eventually('the page is requested', isAsked);
    assert.equal((await poll(job_id, { wait_seconds: '1' })).status, 'pending');
    const startMs = performance.now();
    const waiting = poll(job_id);
    end();
    assert.equal((await waiting).status, 'ok');
    assertSoon(startMs);
  });

  it('GET /v1/fetch/job/{job_id} reports blocks, failures and unreachable sites as a synchronous fetch does', async () => {
    const key = await served.ownerKey('unlucky');
    const readReply = async (body: Record<string, unknown>): Promise<[string, number | null, string | undefined]> => {
      const job_id = await submit({ ...body, retry: { max_attempts: 1 } }, { key });
      const { body: reply } = await served.call(getFetchJob, { key, params: { job_id }, query: untilDone });
      assert.ok(reply.finished_at !== null && reply.attempts.length === 1);
      return [reply.status, reply.status_code, reply.error?.code];
    };
    assert.deepEqual(await readReply({ url: site.sequence('/blocked', html('Slow down', { status: 429 })) }), ['blocked', 429, undefined]);
    assert.deepEqual(await readReply({ url: site.sequence('/fails', html('Oops', { status: 500 })) }), ['ok', 500, undefined]);
    assert.deepEqual(await readReply({ url: 'http://10.0.0.1/' }), ['error', null, 'navigation_failed']);
    assert.deepEqual(await readReply({ url: site.sequence('/silent', silence), timeout_ms: 1000 }), ['error', null, 'timeout']);
  });

  it('GET /v1/fetch/job/{job_id} reports a cancelled fetch without waiting for the site', async () => {
    const job_id = await submit({ url: site.sequence('/given-up', silence) });
    await eventually('the page is requested', () => site.count('/given-up') === 1);
    const waiting = poll(job_id);
    assert.equal((await served.call(cancelJob, { params: { job_id } })).status, 200);
    const reply = await waiting;
    assert.deepEqual([reply.status, reply.error?.code, reply.html, reply.attempts], ['error', 'cancelled', null, []]);
    assert.ok(reply.finished_at);
    await eventually('its slot is free', () => served.app.jobs.load.slots === 0);
  });

  it('GET /v1/fetch/job/{job_id} returns the job that the general endpoint returns', async () => {
    const job_id = await submit({ url: site.sequence('/general', html('x')) });
    const { poll_url, ...result } = await poll(job_id);
    const { body: job } = await served.call(getJob, { params: { job_id } });
    assert.deepEqual([job.kind, job.status, job.stage, job.session_id], ['fetch', 'ok', 'done', result.session_id]);
    assert.deepEqual({ ...job.result, poll_url }, { ...result, poll_url });
    assert.deepEqual(job.usage, result.usage);
  });

  it('GET /v1/fetch/job/{job_id} returns every fetch when more are queued than can run at once', async () => {
    const urls = Array.from({ length: 8 }, (_, n) => site.sequence(`/turn-${n}`, html(`<title>${n}</title>`)));
    const ids = await Promise.all(urls.map((url) => submit({ url })));
    const replies = await Promise.all(ids.map((id) => poll(id)));
    assert.deepEqual(
      replies.map(({ title }) => title),
      ['0', '1', '2', '3', '4', '5', '6', '7'],
    );
  });

  it('GET /v1/fetch/job/{job_id} creates one job for a repeated Idempotency-Key', async () => {
    const headers = { 'idempotency-key': 'the-fetch' };
    const body = { url: site.sequence('/twice', html('x')) };
    const [first, second] = [await submit(body, { headers }), await submit(body, { headers })];
    assert.equal(first, second);
    assert.equal((await poll(first)).status, 'ok');
    assert.equal(site.count('/twice'), 1);
  });

  it('GET /v1/fetch/job/{job_id} returns the assigned machine while the fetch runs', async () => {
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
  it('GET /v1/fetch/job/{job_id} answers 404 job_not_found for unknown, malformed and foreign ids identically', async () => {
    const key = await served.ownerKey('stranger');
    const foreign = await submit({ url: site.sequence('/theirs', html('x')) }, { key });
    const mine = await submit({ url: site.sequence('/mine', html('x')) });
    await poll(mine);
    const readReply = async (job_id: string) =>
      comparable((await served.refuse(getFetchJob, 'job_not_found', { params: { job_id }, query: untilDone })).reply);
    const expected = await readReply(`${newId('ses')}.00000000-0000-4000-8000-000000000000`);
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
      assert.equal(await readReply(id), expected, id);
    assert.equal((await served.call(getFetchJob, { key, params: { job_id: foreign }, query: untilDone })).body.status, 'ok');
  });

  it('GET /v1/fetch/job/{job_id} answers 404 job_not_found for the id of a job that is no fetch', async () => {
    const { body: inspection } = await served.call(inspect, { body: { har: { log: { entries: [] } }, async: true } });
    const job_id = jobIdOf(inspection);
    await served.refuse(getFetchJob, 'job_not_found', { params: { job_id }, query: untilDone });
    assert.equal((await served.call(getJob, { params: { job_id }, query: untilDone })).body.kind, 'inspect');
  });
});

describe('410 job_expired', () => {
  it('GET /v1/fetch/job/{job_id} answers its owner 410 job_expired a day after the fetch finished', async () => {
    const job_id = await submit({ url: site.sequence('/expires', html('x')) });
    await poll(job_id);
    clock.advance(24 * 3_600_000 - 1);
    assert.equal((await poll(job_id)).status, 'ok');
    clock.advance(1);
    await served.refuse(getFetchJob, 'job_expired', { params: { job_id } });
    await served.refuse(getFetchJob, 'job_not_found', { key: await served.ownerKey('nosy'), params: { job_id } });
  });
});

describe('422', () => {
  it('GET /v1/fetch/job/{job_id} refuses an invalid wait_seconds with 422', async () => {
    for (const [query, type] of [
      [{ wait_seconds: '-1' }, 'greater_than_equal'],
      [{ wait_seconds: String(waitSecondsMax + 1) }, 'less_than_equal'],
      [{ wait_seconds: '1.5' }, 'int_parsing'],
      [{ wait_ms: '1' }, 'extra_forbidden'],
    ] as const) {
      const [issue] = await served.issues(getFetchJob, { params: { job_id: 'any' }, query });
      assert.deepEqual([issue?.loc[0], issue?.type], ['query', type]);
    }
  });
});
