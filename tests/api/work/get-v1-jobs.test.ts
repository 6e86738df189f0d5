import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { fetchPage, getJob, inspect, listJobs, runAgent, waitSecondsMax, type JobItemResponse } from '@berth/contract';
import { eventually, startApp, type TestApp } from '../../harness.ts';
import { ManualClock } from '@berth/lib/clock.ts';
import { newId } from '@berth/lib/ids.ts';

const clock = new ManualClock();
let served: TestApp;
before(async () => {
  served = await startApp({ clock });
});
after(() => served.close());

type JobRequest = Parameters<TestApp['app']['jobs']['submit']>[0];
const usage = { actions: 1, egress_bytes: 10, captcha_solves: 0, credits: 0.01 };

/** A job of `owner` that ends on command; its id. */
async function startJob(owner: string, more: Partial<JobRequest> = {}) {
  const gate = Promise.withResolvers<Awaited<ReturnType<JobRequest['run']>>>();
  const request = { owner, kind: 'fetch' as const, sessionId: newId('ses'), subject: {}, queuedMsMax: 60_000, runMsMax: 60_000 };
  const { jobId } = await served.app.jobs.submit({ ...request, run: () => gate.promise, ...more });
  return { jobId, end: gate.resolve };
}

async function doneJob(owner: string, more: Partial<JobRequest> = {}): Promise<string> {
  const { jobId, end } = await startJob(owner, more);
  end({ status: 'ok', result: {}, error: null, usage });
  await served.app.jobs.get(owner, jobId, { waitSeconds: waitSecondsMax, signal: new AbortController().signal });
  return jobId;
}

const list = async (key: string, query: Record<string, string> = {}): Promise<JobItemResponse[]> =>
  (await served.call(listJobs, { key, query })).body;
const idsOf = async (key: string, query: Record<string, string> = {}): Promise<string[]> =>
  (await list(key, query)).map(({ job_id }) => job_id);

describe('200', () => {
  it('GET /v1/jobs lists only the caller’s jobs, newest first, and none to an owner without jobs', async () => {
    const [key, strangerKey] = [await served.ownerKey('lister'), await served.ownerKey('stranger')];
    const made: string[] = [];
    for (let n = 0; n < 3; n += 1) {
      clock.advance(1000);
      made.unshift(await doneJob('lister'));
    }
    assert.deepEqual(await idsOf(key), made);
    assert.deepEqual(await idsOf(strangerKey), []);
  });

  it('GET /v1/jobs reports a job as its own response does, without the result and with what it works on', async () => {
    const key = await served.ownerKey('reader');
    const { jobId, end } = await startJob('reader', { subject: { url: 'https://user:secret@shop.test:8443/a%20b?token=secret#part' } });
    await eventually('the job runs', async () => (await list(key))[0]?.stage === 'running');
    const [running] = await list(key);
    assert.deepEqual([running?.status, running?.usage, running?.expires_at], ['pending', null, null]);
    const error = { code: 'step_failed', message: 'No\u0000such element.', retryable: false, details: { step: 1 } };
    end({ status: 'error', result: { session_id: 'ses_used', html: 'x' }, error, usage });
    const { result, ...whole } = (await served.call(getJob, { key, params: { job_id: jobId }, query: { wait_seconds: '25' } })).body;
    assert.equal(result?.['html'], 'x');
    const { details: _details, ...brief } = error;
    const [listed] = await list(key);
    assert.deepEqual(listed, { ...whole, error: brief, target: 'https://shop.test:8443/a%20b' });
    assert.equal(listed.session_id, 'ses_used');
  });

  it('GET /v1/jobs has the address of a fetch and of an inspection and the name of a flow, and no session where none worked', async () => {
    const key = await served.ownerKey('worker');
    const url = 'http://user:secret@site.test/path?token=secret';
    await served.call(fetchPage, { key, body: { url, mode: 'http', async: true } });
    clock.advance(1000);
    await served.call(inspect, { key, body: { url, settle_ms: 0, async: true } });
    clock.advance(1000);
    await served.call(inspect, { key, body: { har: { log: { entries: [] } }, async: true } });
    clock.advance(1000);
    await served.call(runAgent, { key, body: { task: 'extract_links', inputs: { url: 'http://site.test/' }, async: true } });
    await eventually('all are done', async () => (await list(key, { status: 'pending' })).length === 0);
    const listed = await list(key);
    assert.deepEqual(
      listed.map(({ kind, target }) => [kind, target]),
      [
        ['agent', 'extract_links'],
        ['inspect', null],
        ['inspect', 'http://site.test/path'],
        ['fetch', 'http://site.test/path'],
      ],
    );
    for (const { job_id, session_id } of listed) {
      const { body } = await served.call(getJob, { key, params: { job_id } });
      assert.equal(session_id, body.session_id, body.kind);
    }
  });

  it('GET /v1/jobs filters by kind, by statuses and by when the jobs were created', async () => {
    const key = await served.ownerKey('filterer');
    const startMs = clock.now().getTime();
    const seconds = (n: number): string => String(Math.ceil(startMs / 1000) + n);
    const made: string[] = [];
    for (const kind of ['fetch', 'inspect', 'agent', 'template'] as const) {
      clock.advance(10_000);
      made.push(await doneJob('filterer', { kind, subject: { inspect_id: 'ins', name: kind } }));
    }
    const { jobId: pending, end } = await startJob('filterer');
    const [fetched = '', inspected = '', agent = '', template = ''] = made;
    assert.deepEqual(await idsOf(key, { kind: 'inspect' }), [inspected]);
    assert.deepEqual(await idsOf(key, { status: 'pending' }), [pending]);
    assert.deepEqual(await idsOf(key, { status: 'blocked,error' }), []);
    assert.deepEqual(new Set(await idsOf(key, { status: 'ok,pending' })), new Set([...made, pending]));
    assert.deepEqual(await idsOf(key, { kind: 'fetch', status: 'ok' }), [fetched]);
    assert.deepEqual(await idsOf(key, { since: seconds(15), until: seconds(35) }), [agent, inspected]);
    assert.deepEqual((await idsOf(key, { since: seconds(35) })).toSorted(), [template, pending].toSorted());
    assert.deepEqual(await idsOf(key, { until: seconds(0) }), []);
    end({ status: 'ok', result: {}, error: null, usage });
  });

  it('GET /v1/jobs returns pages without gaps or repeats while jobs are made and end, also those of one instant', async () => {
    const key = await served.ownerKey('pager');
    const atStart = new Set<string>();
    const ends: (() => void)[] = [];
    const start = async (): Promise<string> => {
      const { jobId, end } = await startJob('pager');
      ends.push(() => end({ status: 'ok', result: {}, error: null, usage }));
      return jobId;
    };
    for (let n = 0; n < 7; n += 1) {
      if (n % 3 === 0) clock.advance(1);
      atStart.add(await start());
    }
    const seen: string[] = [];
    for (let next: string | null = `${served.url}/v1/jobs?limit=2`; next !== null;) {
      const page: Response = await fetch(next, { headers: { authorization: `Bearer ${key}` } });
      seen.push(...((await page.json()) as JobItemResponse[]).map(({ job_id }) => job_id));
      next = /<(.+)>; rel="next"/.exec(page.headers.get('link') ?? '')?.[1] ?? null;
      clock.advance(1);
      await start();
      ends.shift()?.();
    }
    for (const end of ends) end();
    assert.equal(seen.length, atStart.size);
    assert.deepEqual(new Set(seen), atStart);
  });

  it('GET /v1/jobs says of a job whose result has expired that it has, for thirty days, and then lists it no more', async () => {
    const key = await served.ownerKey('archivist');
    const { jobId, end } = await startJob('archivist');
    end({ status: 'error', result: { session_id: null }, error: { code: 'x', message: 'y', retryable: false }, usage });
    await served.call(getJob, { key, params: { job_id: jobId }, query: { wait_seconds: '25' } });
    const state = async (): Promise<unknown[]> =>
      (await list(key)).map(({ status, expires_at, error, usage: used }) => {
        const isExpired = Date.parse(expires_at ?? '') <= clock.now().getTime();
        return [status, isExpired, error?.code ?? null, used?.credits ?? null];
      });
    assert.deepEqual(await state(), [['error', false, 'x', 0.01]]);
    clock.advance(24 * 3_600_000);
    // Before it is deleted, and after that.
    assert.deepEqual(await state(), [['error', true, null, null]]);
    await served.refuse(getJob, 'job_expired', { key, params: { job_id: jobId } });
    const expire = async (): Promise<void> => {
      served.app.jobs.expiry.nudge();
      await served.app.jobs.expiry.idle();
    };
    await expire();
    assert.deepEqual(await state(), [['error', true, null, null]]);
    clock.advance(31 * 24 * 3_600_000);
    await expire();
    assert.deepEqual(await state(), []);
  });
});

describe('422', () => {
  it('GET /v1/jobs refuses unknown filters, kinds and statuses, times that are none, and cursors of other lists with 422', async () => {
    const foreign = Buffer.from('[1,"ses_1"]').toString('base64url');
    for (const [query, field] of [
      [{ owner: 'local' }, 'owner'],
      [{ kind: 'crawl' }, 'kind'],
      [{ status: 'ok,done' }, 'status'],
      [{ status: '' }, 'status'],
      [{ since: 'yesterday' }, 'since'],
      [{ until: '-1' }, 'until'],
      [{ limit: '501' }, 'limit'],
      [{ cursor: foreign }, 'cursor'],
      [{ cursor: 'x' }, 'cursor'],
    ] as const) {
      const [issue] = await served.issues(listJobs, { query });
      assert.deepEqual(issue?.loc.slice(0, 2), ['query', field]);
    }
  });
});
