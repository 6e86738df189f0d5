import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it, type TestContext } from 'node:test';
import { silentLog } from '@berth/lib/log.ts';
import { ManualClock } from '@berth/lib/clock.ts';
import { openObjects, type Objects } from '../../objects/objects.ts';
import { drop, openTestBucket, type TestBucket } from '../../../testing/objects.ts';
import { testStore, type TestStore } from '../../../testing/test-store.ts';
import { hasCode, hourMs, insertOwners, makeJobs, never, noWait, okOutcome, requestOf, turn, untilDone } from '../../../testing/jobs.ts';
import { LargeResults, type Jobs, type JobsDeps } from './jobs.ts';
import { largeResultBytes } from './large-results.ts';

const large = { text: 'x'.repeat(largeResultBytes) };
const small = { text: 'x'.repeat(largeResultBytes / 2) };

let served: TestStore;
let bucket: TestBucket;
before(async () => {
  [served, bucket] = await Promise.all([testStore(), openTestBucket()]);
  await insertOwners(served.store, ['anna']);
});
beforeEach(() => {
  bucket.fault = null;
});
after(async () => {
  await bucket.close();
  await served.drop();
});

/** A worker of a fleet that shares the bucket. */
async function createWorker(
  test: TestContext,
  deps: Partial<JobsDeps> = {},
): Promise<{ jobs: Jobs; objects: Objects; clock: ManualClock; largeResults: LargeResults }> {
  const clock = new ManualClock(new Date());
  const objects = await openObjects(bucket.place, { store: served.store, clock, log: silentLog });
  const largeResults = new LargeResults({ objects, clock, log: silentLog });
  const jobs = makeJobs(served.store, { largeResults, clock, ...deps });
  test.after(async () => {
    await jobs.stop();
    objects.close();
  });
  return { jobs, objects, clock, largeResults };
}

/** The id of a job that has ended with this result. */
const doneJob = async (jobs: Jobs, result: Record<string, unknown>): Promise<string> =>
  (await jobs.run(requestOf({ run: () => Promise.resolve(okOutcome(result)) }), never)).jobId;

async function keysOf(objects: Objects): Promise<string[]> {
  const keys: string[] = [];
  for await (const page of objects.list('job-results/', never)) keys.push(...page.map(({ key }) => key));
  return keys;
}

const bytesInRow = async (jobId: string): Promise<number | undefined> => {
  const rows = served.store.tables<{ jobs: { job_id: string; result: Buffer | null } }>().selectFrom('jobs');
  return (await rows.select('result').where('job_id', '=', jobId).executeTakeFirstOrThrow()).result?.length;
};

describe('a large result', () => {
  it('a large result is in the bucket, and every worker returns it', async (test) => {
    const [here, other] = [await createWorker(test), await createWorker(test)];
    const jobId = await doneJob(here.jobs, large);
    assert.deepEqual(await keysOf(here.objects), [`job-results/${jobId}`]);
    assert.equal(await bytesInRow(jobId), undefined);
    for (const { jobs } of [here, other]) {
      const { status, result } = await jobs.get('anna', jobId, untilDone);
      assert.equal(status, 'ok');
      assert.deepEqual(result, large);
    }
    await assert.rejects(other.jobs.get('bert', jobId, noWait), hasCode('job_not_found'));
  });

  it('a result that is not large is in the database', async (test) => {
    const { jobs } = await createWorker(test);
    const jobId = await doneJob(jobs, small);
    assert.ok(((await bytesInRow(jobId)) ?? 0) > largeResultBytes / 2);
    assert.deepEqual((await jobs.get('anna', jobId, noWait)).result, small);
  });

  it('a large result is in the database while the bucket is down', async (test) => {
    const { jobs } = await createWorker(test);
    bucket.fault = drop;
    const jobId = await doneJob(jobs, large);
    assert.ok(((await bytesInRow(jobId)) ?? 0) > largeResultBytes);
    assert.deepEqual((await jobs.get('anna', jobId, noWait)).result, large);
  });

  it('a large result that cannot be read is unavailable, not missing', async (test) => {
    const { jobs } = await createWorker(test);
    const jobId = await doneJob(jobs, large);
    bucket.fault = drop;
    await assert.rejects(jobs.get('anna', jobId, noWait), hasCode('store_unavailable'));
    bucket.fault = null;
    assert.deepEqual((await jobs.get('anna', jobId, noWait)).result, large);
  });

  it('a large result makes room for newer ones of its owner, in the bucket, too', async (test) => {
    const { jobs, objects, clock } = await createWorker(test, { ownerResultBytesMax: 2.5 * largeResultBytes });
    const ids: string[] = [];
    for (let index = 0; index < 3; index += 1) {
      ids.push(await doneJob(jobs, large));
      clock.advance(1000);
    }
    const first = ids[0] ?? assert.fail();
    await assert.rejects(jobs.get('anna', first, noWait), hasCode('job_expired'));
    assert.equal((await jobs.get('anna', ids.at(-1) ?? '', noWait)).status, 'ok');
    assert.ok(!(await keysOf(objects)).includes(`job-results/${first}`));
  });

  it('a large result is deleted when it has expired', async (test) => {
    const { jobs, objects, clock, largeResults } = await createWorker(test);
    const jobId = await doneJob(jobs, large);
    clock.advance(24 * hourMs - 60_000);
    await turn(largeResults.pruning);
    assert.ok((await keysOf(objects)).includes(`job-results/${jobId}`));
    clock.advance(2 * hourMs);
    await turn(largeResults.pruning);
    assert.deepEqual(await keysOf(objects), []);
    await assert.rejects(jobs.get('anna', jobId, noWait), hasCode('job_expired'));
  });

  it('a large result that a rule of the bucket has deleted has expired', async (test) => {
    const { jobs, objects } = await createWorker(test);
    const jobId = await doneJob(jobs, large);
    await objects.delete(`job-results/${jobId}`);
    await assert.rejects(jobs.get('anna', jobId, noWait), hasCode('job_expired'));
  });
});
