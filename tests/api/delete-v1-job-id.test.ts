import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { cancelJob, getJob, waitSecondsMax } from '@berth/contract';
import { comparable, startApp, type TestApp } from '../harness.ts';
import { ManualClock } from '../../packages/server/src/lib/clock.ts';
import { newId } from '../../packages/server/src/lib/ids.ts';

const clock = new ManualClock();
let served: TestApp;
before(async () => {
  served = await startApp({ clock });
  await served.ownerKey('stranger');
});
after(() => served.close());

const untilDone = { wait_seconds: String(waitSecondsMax) };

type Order = Parameters<TestApp['app']['jobs']['submit']>[0];
type Context = Parameters<Order['run']>[0];

/** A job whose work ends when it is told to. */
async function startJob(
  owner = 'local',
): Promise<{ job_id: string; context: Promise<Context>; end: (result?: Record<string, unknown>) => void }> {
  const begun = Promise.withResolvers<Context>();
  const gate = Promise.withResolvers<Record<string, unknown>>();
  const run: Order['run'] = async (context) => {
    begun.resolve(context);
    return {
      status: 'ok',
      result: await gate.promise,
      error: null,
      usage: { actions: 1, egress_bytes: 10, captcha_solves: 0, credits: 0.01 },
    };
  };
  const order: Order = { owner, kind: 'fetch', sessionId: newId('ses'), subject: {}, queuedMsMax: 60_000, runMsMax: 60_000, run };
  const { jobId } = await served.app.jobs.submit(order);
  return { job_id: jobId, context: begun.promise, end: (result = {}) => gate.resolve(result) };
}

describe('200', () => {
  it('ends a job that runs, and stops its work', async () => {
    const { job_id, context, end } = await startJob();
    const { signal } = await context;
    const { body } = await served.call(cancelJob, { params: { job_id } });
    assert.deepEqual([body.status, body.stage, body.error?.code, body.result], ['error', 'done', 'cancelled', null]);
    assert.equal(signal.aborted, true);
    end();
  });

  it('wakes who waits for the job', async () => {
    const { job_id, end } = await startJob();
    const poll = served.call(getJob, { params: { job_id }, query: untilDone });
    await served.call(cancelJob, { params: { job_id } });
    assert.equal((await poll).body.error?.code, 'cancelled');
    end();
  });

  it('is the same answer however often it is asked, also when the work comes to something after all', async () => {
    const { job_id, end } = await startJob();
    const { body: first } = await served.call(cancelJob, { params: { job_id } });
    end();
    for (let time = 0; time < 3; time += 1) assert.deepEqual((await served.call(cancelJob, { params: { job_id } })).body, first);
  });

  it('leaves a job that is done as it is', async () => {
    const { job_id, end } = await startJob();
    end({ kept: true });
    const { body: done } = await served.call(getJob, { params: { job_id }, query: untilDone });
    assert.deepEqual((await served.call(cancelJob, { params: { job_id } })).body, done);
  });
});

describe('404 job_not_found', () => {
  it('is the answer to an unknown, a malformed and a foreign id alike, and the foreign job goes on', async () => {
    const { job_id, end } = await startJob('stranger');
    const unknown = job_id.replace(/[0-9a-f]{12}$/, '0'.repeat(12));
    const ask = async (id: string) => comparable((await served.refuse(cancelJob, 'job_not_found', { params: { job_id: id } })).reply);
    const expected = await ask(unknown);
    for (const id of [job_id, `${job_id}.x`, newId('ses'), '../x.y', 'http://169.254.169.254.x']) assert.equal(await ask(id), expected, id);
    const never = new AbortController().signal;
    assert.equal((await served.app.jobs.get('stranger', job_id, { signal: never })).status, 'pending');
    end();
  });
});

describe('410 job_expired', () => {
  it('is the answer when the result is no longer kept', async () => {
    const { job_id, end } = await startJob();
    end();
    await served.call(getJob, { params: { job_id }, query: untilDone });
    clock.advance(24 * 3_600_000);
    await served.refuse(cancelJob, 'job_expired', { params: { job_id } });
  });
});
