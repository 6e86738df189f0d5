import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { cancelJob, fetchPage, getJob, getSession, inspect, waitSecondsMax } from '@berth/contract';
import { assertSoon, comparable, startApp, type TestApp } from '../../harness.ts';
import { ManualClock } from '@berth/lib/clock.ts';
import { newId } from '@berth/lib/ids.ts';

const clock = new ManualClock();
let served: TestApp;
let strangerKey = '';
before(async () => {
  served = await startApp({ clock });
  strangerKey = await served.ownerKey('stranger');
});
after(() => served.close());

const untilDone = { wait_seconds: String(waitSecondsMax) };

type JobRequest = Parameters<TestApp['app']['jobs']['submit']>[0];
type Context = Parameters<JobRequest['run']>[0];

/** A job whose work finishes on command. */
async function startJob(
  owner = 'local',
): Promise<{ job_id: string; context: Promise<Context>; end: (result?: Record<string, unknown>) => void }> {
  const begun = Promise.withResolvers<Context>();
  const gate = Promise.withResolvers<Record<string, unknown>>();
  const run: JobRequest['run'] = async (context) => {
    begun.resolve(context);
    return {
      status: 'ok',
      result: await gate.promise,
      error: null,
      usage: { actions: 1, egress_bytes: 10, captcha_solves: 0, credits: 0.01 },
    };
  };
  const request: JobRequest = { owner, kind: 'fetch', sessionId: newId('ses'), subject: {}, queuedMsMax: 60_000, runMsMax: 60_000, run };
  const { jobId } = await served.app.jobs.submit(request);
  return { job_id: jobId, context: begun.promise, end: (result = {}) => gate.resolve(result) };
}

const malformedIds = (good: string): string[] => [
  'nothing',
  newId('ses'),
  `${newId('ses')}.`,
  good.slice(good.indexOf('.') + 1),
  `${good}.x`,
  `${good}\u0000`,
  good.toUpperCase(),
  'http://169.254.169.254.x',
  '../x.y',
  "ses_' OR 1=1 --.x",
  '.'.repeat(50),
  'x'.repeat(4000),
  'constructor',
  '💥',
];

describe('200', () => {
  it('GET /v1/job/{job_id} reports a running job, and its result when it has finished', async () => {
    const { job_id, context, end } = await startJob();
    (await context).progress(1, 3, 'loading');
    const { body: running } = await served.call(getJob, { params: { job_id } });
    assert.deepEqual(
      [running.status, running.stage, running.progress, running.result, running.finished_at, running.expires_at],
      ['pending', 'running', { step: 1, total: 3, note: 'loading' }, null, null, null],
    );
    end({ html: '<p>a\u0000b</p>' });
    const { body: done } = await served.call(getJob, { params: { job_id }, query: untilDone });
    assert.deepEqual([done.status, done.stage, done.result, done.error], ['ok', 'done', { html: '<p>a\u0000b</p>' }, null]);
    assert.deepEqual([running.session_id, done.session_id], [null, null], 'no session was named');
    assert.deepEqual(done.usage, { actions: 1, egress_bytes: 10, captcha_solves: 0, credits: 0.01 });
    assert.equal(Date.parse(done.expires_at ?? '') - Date.parse(done.finished_at ?? ''), 24 * 3_600_000);
  });

  it('GET /v1/job/{job_id} answers as soon as the job has finished when wait_seconds is set', async () => {
    const { job_id, context, end } = await startJob();
    await context;
    const startMs = performance.now();
    const poll = served.call(getJob, { params: { job_id }, query: untilDone });
    end();
    assert.equal((await poll).body.status, 'ok');
    assertSoon(startMs);
  });

  it('GET /v1/job/{job_id} answers with the unfinished job when wait_seconds has passed', async () => {
    const { job_id, end } = await startJob();
    const { body } = await served.call(getJob, { params: { job_id }, query: { wait_seconds: '1' } });
    assert.equal(body.status, 'pending');
    end();
  });

  it('GET /v1/job/{job_id} reports why a job failed', async () => {
    const { job_id, end } = await startJob();
    await served.call(cancelJob, { params: { job_id } });
    const { body } = await served.call(getJob, { params: { job_id } });
    assert.deepEqual([body.status, body.stage, body.error?.code, body.error?.retryable], ['error', 'done', 'cancelled', false]);
    end();
  });
});

describe('session_id', () => {
  const har = { log: { entries: [] } };
  const sessionIdOf = async (job_id: string): Promise<string | null> =>
    (await served.call(getJob, { params: { job_id }, query: untilDone })).body.session_id;

  it('GET /v1/job/{job_id} has no session_id where no browser works: plain HTTP, and a HAR', async () => {
    for (const mode of ['http', 'auto'] as const) {
      const { body: pending } = await served.call(fetchPage, { body: { url: 'http://site.test/', mode, async: true } });
      assert.equal(pending.session_id, null, mode);
      const { body: done } = await served.call(getJob, { params: { job_id: pending.job_id ?? '' }, query: untilDone });
      assert.equal(done.status === 'pending', false);
      assert.equal(done.session_id, (done.result as { session_id?: string | null } | null)?.session_id ?? null, mode);
    }
    const { body: pending } = await served.call(inspect, { body: { har, async: true } });
    assert.deepEqual([pending.session_id, await sessionIdOf(pending.job_id)], [null, null]);
  });

  it('GET /v1/job/{job_id} has the session_id of a session that can be read', async () => {
    const body = { url: 'http://site.test/', async: true };
    for (const { body: pending } of [
      await served.call(fetchPage, { body }),
      await served.call(inspect, { body: { ...body, settle_ms: 0 } }),
    ]) {
      for (const session_id of [pending.session_id, await sessionIdOf(pending.job_id ?? '')])
        assert.equal((await served.call(getSession, { params: { session_id: session_id ?? '' } })).status, 200);
    }
  });
});

describe('404 job_not_found', () => {
  it('GET /v1/job/{job_id} answers 404 job_not_found for unknown, malformed, foreign and mixed ids identically', async () => {
    const mine = await startJob();
    const theirs = await startJob('stranger');
    mine.end();
    theirs.end();
    await served.call(getJob, { params: { job_id: theirs.job_id }, query: untilDone, key: strangerKey });
    const [mySession = '', myUuid = ''] = mine.job_id.split('.');
    const [theirSession = '', theirUuid = ''] = theirs.job_id.split('.');
    const unknown = `${mySession}.00000000-0000-4000-8000-000000000000`;
    const readReply = async (job_id: string) =>
      comparable((await served.refuse(getJob, 'job_not_found', { params: { job_id }, query: untilDone })).reply);
    const expected = await readReply(unknown);
    for (const job_id of [theirs.job_id, `${mySession}.${theirUuid}`, `${theirSession}.${myUuid}`, ...malformedIds(mine.job_id)])
      assert.equal(await readReply(job_id), expected, job_id);
  });

  it('GET /v1/job/{job_id} answers 404 job_not_found for a job that finished long ago', async () => {
    const { job_id, end } = await startJob();
    end();
    await served.call(getJob, { params: { job_id }, query: untilDone });
    for (const days of [2, 31]) {
      clock.advance(days * 24 * 3_600_000);
      served.app.jobs.expiry.nudge();
      await served.app.jobs.expiry.idle();
    }
    await served.refuse(getJob, 'job_not_found', { params: { job_id } });
  });
});

describe('410 job_expired', () => {
  it('GET /v1/job/{job_id} answers 410 job_expired after the result has expired, to its owner only', async () => {
    const { job_id, end } = await startJob();
    end();
    const { body } = await served.call(getJob, { params: { job_id }, query: untilDone });
    clock.advance(24 * 3_600_000);
    const { details } = await served.refuse(getJob, 'job_expired', { params: { job_id } });
    assert.equal(details['expired_at'], body.expires_at);
    await served.refuse(getJob, 'job_not_found', { params: { job_id }, key: strangerKey });
  });
});

describe('422', () => {
  it('GET /v1/job/{job_id} refuses an invalid wait_seconds and unknown query parameters with 422', async () => {
    for (const [query, type] of [
      [{ wait_seconds: '-1' }, 'greater_than_equal'],
      [{ wait_seconds: String(waitSecondsMax + 1) }, 'less_than_equal'],
      [{ wait_seconds: 'long' }, 'int_parsing'],
      [{ wait: '1' }, 'extra_forbidden'],
    ] as const) {
      const [issue] = await served.issues(getJob, { params: { job_id: 'any' }, query });
      assert.equal(issue?.type, type);
      assert.equal(issue?.loc[0], 'query');
    }
  });
});
