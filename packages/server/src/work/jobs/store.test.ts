import assert from 'node:assert/strict';
import { after, before, afterEach, beforeEach, describe, it } from 'node:test';
import { newId } from '@berth/lib/ids.ts';
import { testStore, type TestStore } from '../../../testing/test-store.ts';
import { newJobId, noProgress } from './job.ts';
import { insertOwners } from '../../../testing/jobs.ts';
import { cancelled, endedAt, workerLost } from './outcome.ts';
import { claimJob, findJob, finishJob, insertJob, markStarted, markTouched, offerJobs, releaseJobs } from './store.ts';

const [first, second, third] = [newId('wrk'), newId('wrk'), newId('wrk')];
const at = new Date();
const overdueAt = new Date(at.getTime() + 3_600_000);
let database: TestStore;
let jobId = '';
before(async () => {
  database = await testStore();
  await insertOwners(database.store, ['anna']);
});
after(() => database.drop());
/** A job that waits at the first worker, and is offered to the others. */
beforeEach(async () => {
  const sessionId = newId('ses');
  jobId = newJobId(sessionId);
  const pending = { owner: 'anna', sessionId, workerId: first, kind: 'fetch', status: 'pending', subject: { url: '' } } as const;
  const nothing = { startedAt: null, finishedAt: null, expiresAt: null, result: null, error: null, usage: null };
  const record = { jobId, ...pending, ...nothing, progress: noProgress, createdAt: at };
  await insertJob(database.store, record, { overdueAt, queueMsMax: 60_000, request: Buffer.from('sealed') });
  await offerJobs(database.store, [{ jobId, rank: 0 }], { workerId: first, at });
});
// It is not for the workers of the next test.
afterEach(() => finishJob(database.store, jobId, { ...cancelled, ...endedAt(at) }));

const claim = async (workerId: string) => (await claimJob(database.store, { workerId, startedAt: at }))?.record.jobId === jobId;
const start = (workerId: string) => markStarted(database.store, { jobId, workerId, startedAt: at });
const touch = (workerId: string, attempt: number | null = 1) => markTouched(database.store, { jobId, workerId, attempt, at });
const finish = (workerId: string) => finishJob(database.store, jobId, { ...workerLost, ...endedAt(at), workerId });
const release = (workerId: string) => releaseJobs(database.store, [jobId], { workerIds: [workerId], at });

describe('the row of a job that is offered', () => {
  it('the row of an offered job is claimed by one worker, to whom it belongs from then on', async () => {
    const claims = await Promise.all([claim(second), claim(third)]);
    assert.notEqual(claims[0], claims[1]);
    const [holder, other] = claims[0] ? [second, third] : [third, second];
    assert.equal(await claim(other), false);
    for (const workerId of [first, other])
      assert.deepEqual([await start(workerId), await touch(workerId), await finish(workerId)], [false, false, false]);
    assert.deepEqual(await release(first), []);
    assert.deepEqual([await touch(holder), await finish(holder)], [true, true]);
  });

  it('the row of an offered job is claimed by nobody once its own worker has started it', async () => {
    assert.equal(await start(first), true);
    assert.equal(await claim(second), false);
  });

  it('the row of an offered job is claimed anew when its worker is lost, unless it has touched something', async () => {
    assert.equal(await claim(second), true);
    assert.deepEqual(await release(second), [jobId]);
    assert.equal(await finish(second), false);
    assert.equal(await claim(third), true);
    assert.equal(await touch(third, 2), true);
    assert.deepEqual(await release(third), []);
    assert.equal(await claim(second), false);
  });

  it('the row of an offered job is touched by its present run alone where its worker has lost and claimed it', async () => {
    assert.equal(await start(first), true);
    assert.deepEqual(await release(first), [jobId]);
    assert.equal(await claim(first), true);
    assert.equal(await touch(first, null), false, 'the run that its worker accepted');
    assert.deepEqual(await release(first), [jobId]);
    assert.equal(await claim(first), true);
    assert.equal(await touch(first, 2), false, 'the run that it claimed before');
    assert.equal(await touch(first, 3), true);
  });

  it('the row of an offered job ends once: after a cancel, no result of its worker is stored', async () => {
    assert.equal(await claim(second), true);
    assert.equal(await finishJob(database.store, jobId, { ...cancelled, ...endedAt(at) }), true);
    assert.deepEqual([await finish(second), await start(second), await claim(third)], [false, false, false]);
    assert.equal((await findJob(database.store, 'anna', jobId))?.record.status, cancelled.status);
  });
});
