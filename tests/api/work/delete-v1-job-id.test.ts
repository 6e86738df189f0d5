import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { cancelJob, getJob, waitSecondsMax } from '@berth/contract';
import { comparable, startApp, type TestApp } from '../../harness.ts';
import { ManualClock } from '@berth/lib/clock.ts';
import { newId } from '@berth/lib/ids.ts';

const clock = new ManualClock();
let served: TestApp;
before(async () => {
  served = await startApp({ clock });
  await served.ownerKey('stranger');
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

describe('200', () => {
  it('DELETE /v1/job/{job_id} cancels a running job and stops its work', async () => {
    const { job_id, context, end } = await startJob();
    const { signal } = await context;
    const { body } = await served.call(cancelJob, { params: { job_id } });
    assert.deepEqual([body.status, body.stage, body.error?.code, body.result], ['error', 'done', 'cancelled', null]);
    assert.equal(signal.aborted, true);
    end();
  });

  it('DELETE /v1/job/{job_id} wakes callers that wait for the job', async () => {
    const { job_id, end } = await startJob();
    const poll = served.call(getJob, { params: { job_id }, query: untilDone });
    await served.call(cancelJob, { params: { job_id } });
    assert.equal((await poll).body.error?.code, 'cancelled');
    end();
  });

  it('DELETE /v1/job/{job_id} is idempotent, also when the work finishes later', async () => {
    const { job_id, end } = await startJob();
    const { body: first } = await served.call(cancelJob, { params: { job_id } });
    end();
    for (let time = 0; time < 3; time += 1) assert.deepEqual((await served.call(cancelJob, { params: { job_id } })).body, first);
  });

  it('DELETE /v1/job/{job_id} does not change a finished job', async () => {
    const { job_id, end } = await startJob();
    end({ isRetained: true });
    const { body: done } = await served.call(getJob, { params: { job_id }, query: untilDone });
    assert.deepEqual((await served.call(cancelJob, { params: { job_id } })).body, done);
  });
});

describe('404 job_not_found', () => {
  it('DELETE /v1/job/{job_id} answers 404 job_not_found for unknown, malformed and foreign ids identically, and the foreign job continues', async () => {
    const { job_id, end } = await startJob('stranger');
    const unknown = job_id.replace(/[0-9a-f]{12}$/, '0'.repeat(12));
    const cancel = async (id: string) => comparable((await served.refuse(cancelJob, 'job_not_found', { params: { job_id: id } })).reply);
    const expected = await cancel(unknown);
    for (const id of [job_id, `${job_id}.x`, newId('ses'), '../x.y', 'http://169.254.169.254.x'])
      assert.equal(await cancel(id), expected, id);
    const never = new AbortController().signal;
    assert.equal((await served.app.jobs.get('stranger', job_id, { signal: never })).status, 'pending');
    end();
  });
});

describe('410 job_expired', () => {
  it('DELETE /v1/job/{job_id} answers 410 job_expired after the result has expired', async () => {
    const { job_id, end } = await startJob();
    end();
    await served.call(getJob, { params: { job_id }, query: untilDone });
    clock.advance(24 * 3_600_000);
    await served.refuse(cancelJob, 'job_expired', { params: { job_id } });
  });
});
