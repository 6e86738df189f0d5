import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import { sql } from 'kysely';
import { newId } from '@berth/lib/ids.ts';
import { silentLog } from '@berth/lib/log.ts';
import { testStore, type TestStore } from '../../../testing/test-store.ts';
import { clock, codeOf, insertOwners, makeJobs, noWait, okOutcome, requestOf, turn, untilDone, Work } from '../../../testing/jobs.ts';
import { Listener, type Store } from '../../store/store.ts';
import { offersChannel, type JobContext, type JobRequest, type Jobs, type JobsDeps } from './jobs.ts';

let database: TestStore;
const secret = Buffer.alloc(32, 1);
const workers: Jobs[] = [];
before(async () => {
  database = await testStore();
  await insertOwners(database.store, ['anna', 'bert']);
});
afterEach(async () => {
  await Promise.all(workers.splice(0).map((worker) => worker.stop()));
  // What they left is not for the workers of the next test.
  await sql`update jobs set status = 'error', finished_at = now(), expires_at = now() where status = 'pending'`.execute(
    database.store.tables<unknown>(),
  );
});
after(() => database.drop());

/** Started, with its runs of other workers' jobs in `ran`. */
function startWorker(deps: Partial<JobsDeps> & { work?: (context: JobContext) => Promise<void> } = {}) {
  const { work = () => Promise.resolve(), ...others } = deps;
  const ran: string[] = [];
  const jobs = makeJobs(database.store, {
    fleet: fleetOf(),
    ...others,
  });
  jobs.describe('fetch', ({ body }) => ({
    runMsMax: 30_000,
    run: async (context) => {
      ran.push(context.jobId);
      await work(context);
      return okOutcome({ body, by: 'another' });
    },
  }));
  workers.push(jobs);
  jobs.start();
  return { jobs, ran };
}

const described = (request: Partial<JobRequest> = {}): JobRequest =>
  requestOf({
    description: {
      principal: { owner: 'anna', keyId: null, requestsPerMinute: null, scope: 'anna' },
      body: { secret: 'hunter2 \u0000' },
      opId: 'call:1',
    },
    ...request,
  });

const rowOf = async (jobId: string) => {
  const { rows } = await sql<{
    request: Buffer | null;
    attempts: number;
    worker_id: string;
  }>`select request, attempts, worker_id from jobs where job_id = ${jobId}`.execute(database.store.tables<unknown>());
  return rows[0] ?? assert.fail('no such job');
};
const hold = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));

describe('a job that waits', () => {
  it('a job that waits is run by a worker with room, once, and its request is stored encrypted until then', async () => {
    const never = Promise.withResolvers<void>();
    const busy = makeBusy();
    const blocker = new Work();
    await busy.submit(requestOf({ run: blocker.run }));
    const { jobId } = await busy.submit(described({ run: () => assert.fail('it ran twice'), onNeverStarted: () => never.resolve() }));
    const stored = (await rowOf(jobId)).request ?? assert.fail('no request');
    assert.equal(stored.includes('hunter2'), false);
    const other = startWorker();
    const record = await busy.get('anna', jobId, untilDone);
    assert.deepEqual([record.status, record.result], ['ok', { body: { secret: 'hunter2 \u0000' }, by: 'another' }]);
    assert.deepEqual(other.ran, [jobId]);
    assert.deepEqual([(await rowOf(jobId)).request, (await rowOf(jobId)).attempts], [null, 1]);
    await never.promise;
    blocker.end();
  });

  it('a job that waits is waited for at its worker, also when another one has taken it', async () => {
    const busy = makeBusy();
    const blocker = new Work();
    await busy.submit(requestOf({ run: blocker.run }));
    const { jobId } = await busy.submit(described());
    const polled = busy.get('anna', jobId, untilDone);
    const gate = Promise.withResolvers<void>();
    const other = startWorker({ work: () => gate.promise });
    while (other.ran.length === 0) await busy.get('anna', jobId, { ...noWait, waitSeconds: 0.02 });
    await turn(busy.reconciliation);
    assert.equal((await busy.get('anna', jobId, { ...noWait, waitSeconds: 0.1 })).status, 'pending');
    gate.resolve();
    assert.equal((await polled).status, 'ok');
    blocker.end();
  });

  it('a job that waits is run once however often its offer is notified, and to however many workers', async () => {
    const busy = makeBusy();
    const blocker = new Work();
    await busy.submit(requestOf({ run: blocker.run }));
    const ids = await Promise.all(Array.from({ length: 8 }, async () => (await busy.submit(described())).jobId));
    const others = [startWorker(), startWorker(), startWorker()];
    for (let time = 0; time < 20; time += 1) await sql`select pg_notify(${offersChannel}, '')`.execute(database.store.tables<unknown>());
    for (const jobId of ids) assert.equal((await busy.get('anna', jobId, untilDone)).status, 'ok');
    assert.deepEqual(others.flatMap(({ ran }) => ran).toSorted(), ids.toSorted());
    for (const jobId of ids) assert.equal((await rowOf(jobId)).attempts, 1);
    blocker.end();
  });

  it('a job that waits is taken though the connections that listen for it were lost', async () => {
    const busy = makeBusy();
    const blocker = new Work();
    await busy.submit(requestOf({ run: blocker.run }));
    const other = startWorker();
    const first = await busy.submit(described());
    await busy.get('anna', first.jobId, untilDone);
    await sql`select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and application_name = 'berth berth_jobs'`.execute(database.store.tables<unknown>());
    const { jobId } = await busy.submit(described());
    assert.equal((await busy.get('anna', jobId, untilDone)).status, 'ok');
    assert.deepEqual(other.ran, [first.jobId, jobId]);
    blocker.end();
  });

  it('a job that waits times out where its worker has stopped and no other takes it, after no longer than it may wait', async () => {
    const busy = makeBusy();
    const blocker = new Work();
    await busy.submit(requestOf({ run: blocker.run }));
    const { jobId } = await busy.submit(described({ queuedMsMax: 60_000 }));
    await turn(busy.recovery);
    clock.advance(50_000);
    await busy.drain(0);
    assert.equal((await rowOf(jobId)).worker_id, '');
    const other = startWorker({ takesWork: () => false }).jobs;
    clock.advance(9000);
    await turn(other.recovery);
    assert.equal((await other.get('anna', jobId, noWait)).status, 'pending');
    clock.advance(2000);
    await turn(other.recovery);
    assert.deepEqual(await codeOf(other, jobId), 'no_capacity');
    blocker.end();
  });

  it('a job that waits is not taken by a worker that its operator cordons', async () => {
    const busy = makeBusy();
    const blocker = new Work();
    await busy.submit(requestOf({ run: blocker.run }));
    const cordoned = startWorker({ takesWork: () => false });
    const ids = await Promise.all(Array.from({ length: 6 }, async () => (await busy.submit(described())).jobId));
    const other = startWorker();
    for (const jobId of ids) assert.equal((await busy.get('anna', jobId, untilDone)).status, 'ok');
    assert.deepEqual([cordoned.ran, other.ran.length], [[], 6]);
    blocker.end();
  });

  it('a job that waits is offered again after an offer that could not be stored', async () => {
    let isDown = true;
    const store: Store = Object.assign(Object.create(database.store) as Store, {
      tables: () => {
        if (isDown && new Error().stack?.includes('offerJobs')) throw new Error('the connection was lost');
        return database.store.tables<never>();
      },
    });
    const busy = makeJobs(store, { runningMax: 1, fleet: fleetOf() });
    workers.push(busy);
    const blocker = new Work();
    await busy.submit(requestOf({ run: blocker.run }));
    const { jobId } = await busy.submit(described());
    await turn(busy.offering);
    assert.equal((await offersOf([jobId])).size, 0);
    isDown = false;
    for (let turns = 0; turns < 2; turns += 1) await turn(busy.offering);
    assert.equal((await offersOf([jobId])).size, 1);
    blocker.end();
  });

  it('jobs that wait are taken in turns by the weight of the plans of their owners', async () => {
    const weightOf = (owner: string): number => (owner === 'bert' ? 2 : 1);
    const busy = makeJobs(database.store, { runningMax: 1, queuedMax: 50, weightOf, fleet: fleetOf() });
    workers.push(busy);
    const blocker = new Work();
    await busy.submit(requestOf({ run: blocker.run }));
    const names = new Map<string, string>();
    for (const name of ['anna 1', 'anna 2', 'anna 3', 'bert 1', 'bert 2', 'bert 3']) {
      const [owner = ''] = name.split(' ');
      const { jobId } = await busy.submit(described({ owner }));
      names.set(jobId, name);
    }
    await turn(busy.offering);
    const ranks = [...(await offersOf([...names.keys()]))];
    const ranked = ranks.toSorted(([, a], [, b]) => a - b).map(([jobId]) => names.get(jobId));
    // Anna has one that runs.
    assert.deepEqual(ranked, ['bert 1', 'bert 2', 'anna 1', 'bert 3', 'anna 2', 'anna 3']);
    blocker.end();
  });

  it('a job that waits is taken before the many of another owner that came earlier', async () => {
    const busy = makeBusy();
    const blocker = new Work();
    await busy.submit(requestOf({ run: blocker.run }));
    for (let n = 0; n < 8; n += 1) await busy.submit(described());
    const { jobId } = await busy.submit(described({ owner: 'bert' }));
    await busy.offering.idle();
    const other = startWorker({ runningMax: 1 });
    await busy.get('bert', jobId, untilDone);
    assert.ok(other.ran.indexOf(jobId) <= 1, `it was the ${other.ran.indexOf(jobId) + 1}th`);
    blocker.end();
  });

  it('a job that waits stays where only its worker can run it: in a session, or with a large request', async () => {
    const busy = makeBusy();
    const blocker = new Work();
    await busy.submit(requestOf({ run: blocker.run }));
    const large = { ...described().description, body: { har: 'x'.repeat(300_000) } } as NonNullable<JobRequest['description']>;
    const ids = [requestOf(), described({ description: large })].map(async (request) => (await busy.submit(request)).jobId);
    const movable = (await busy.submit(described())).jobId;
    const other = startWorker();
    await busy.get('anna', movable, untilDone);
    blocker.end();
    for (const id of await Promise.all(ids)) assert.deepEqual((await busy.get('anna', id, untilDone)).result, { done: true });
    assert.deepEqual(other.ran, [movable]);
  });

  it('a job that another worker runs is cancelled from any worker, and may still charge what ran', async () => {
    const busy = makeBusy();
    const blocker = new Work();
    await busy.submit(requestOf({ run: blocker.run }));
    const { jobId } = await busy.submit(described());
    const aborted = Promise.withResolvers<void>();
    let context: JobContext | undefined;
    const other = startWorker({ work: (given) => hold((context = given).signal).then(aborted.resolve) });
    while (other.ran.length === 0) await busy.get('anna', jobId, { ...noWait, waitSeconds: 0.02 });
    assert.equal((await busy.cancel('anna', jobId)).error?.code, 'cancelled');
    await aborted.promise;
    assert.equal(await codeOf(other.jobs, jobId), 'cancelled');
    await context?.touch();
    blocker.end();
  });
});

describe('a lost worker', () => {
  const lose = async (prepare: (context: JobContext) => Promise<void>) => {
    const workerId = newId('wrk');
    const lost = makeJobs(database.store, { workerId, fleet: fleetOf() });
    const began = Promise.withResolvers<JobContext>();
    const run = async (context: JobContext) => {
      await prepare(context);
      began.resolve(context);
      await hold(context.signal);
      return okOutcome({ by: 'the lost one' });
    };
    const { jobId } = await lost.submit(described({ run }));
    const context = await began.promise;
    const other = startWorker({ silentWorkers: () => Promise.resolve([workerId]) });
    return { lost, jobId, context, other };
  };

  it("a job of a lost worker that touched nothing is run by another, and the lost run's result is dropped", async () => {
    const { lost, jobId, context, other } = await lose(() => Promise.resolve());
    const record = await other.jobs.get('anna', jobId, untilDone);
    assert.deepEqual([record.status, other.ran], ['ok', [jobId]]);
    await assert.rejects(context.touch(), { name: 'JobEndedError' });
    assert.equal(context.signal.aborted, true);
    await turn(lost.reconciliation);
    assert.deepEqual((await other.jobs.get('anna', jobId, noWait)).result, { body: { secret: 'hunter2 \u0000' }, by: 'another' });
  });

  it('a job that a lost worker claims again is touched by the later run alone', async () => {
    const gate = Promise.withResolvers<void>();
    const contexts: JobContext[] = [];
    const work = (context: JobContext): Promise<void> => {
      contexts.push(context);
      return gate.promise;
    };
    const worker = startWorker({ runningMax: 4, work });
    const first = Promise.withResolvers<JobContext>();
    const run = async (context: JobContext) => {
      first.resolve(context);
      await gate.promise;
      return okOutcome({ by: 'the first run' });
    };
    const { jobId } = await worker.jobs.submit(described({ run }));
    const runs = [await first.promise];
    // Once from its own first run, once from a claimed one.
    for (const count of [1, 2]) {
      worker.jobs.abandon();
      while (contexts.length < count) {
        worker.jobs.recovery.nudge();
        await worker.jobs.get('anna', jobId, { ...noWait, waitSeconds: 0.05 });
      }
      runs.push(contexts[count - 1] ?? assert.fail('it was not claimed again'));
    }
    const last = runs.pop() ?? assert.fail('no run');
    for (const earlier of runs) await assert.rejects(earlier.touch(), { name: 'JobEndedError' });
    await last.touch();
    gate.resolve();
    assert.deepEqual((await worker.jobs.get('anna', jobId, untilDone)).result, { body: { secret: 'hunter2 \u0000' }, by: 'another' });
  });

  it('a job of a lost worker that changed a page ends as worker_lost', async () => {
    const { jobId, other } = await lose(({ touch }) => touch());
    assert.equal(await codeOf(other.jobs, jobId), 'worker_lost');
    assert.deepEqual(other.ran, []);
  });

  it('a job of a lost worker ends as worker_lost when the third attempt is lost', async () => {
    const workerId = newId('wrk');
    const { jobId } = await makeJobs(database.store, { workerId, fleet: fleetOf() }).submit(described({ run: new Work().run }));
    await sql`update jobs set attempts = 3, started_at = now() where job_id = ${jobId}`.execute(database.store.tables<unknown>());
    const other = startWorker({ silentWorkers: () => Promise.resolve([workerId]) });
    assert.equal(await codeOf(other.jobs, jobId), 'worker_lost');
  });

  it('the jobs of a lost worker are run when it is back', async () => {
    const workerId = newId('wrk');
    const died = makeJobs(database.store, { workerId, fleet: fleetOf() });
    const { jobId } = await died.submit(described({ run: new Work().run }));
    const back = startWorker({ workerId });
    assert.equal((await back.jobs.get('anna', jobId, untilDone)).status, 'ok');
    assert.deepEqual(back.ran, [jobId]);
  });
});

describe('a worker that stops', () => {
  it('a worker that stops leaves jobs that wait and that touched nothing to others, and ends the rest', async () => {
    const began = Promise.withResolvers<void>();
    const { jobs: stopping } = startWorker({ runningMax: 2 });
    const run = async (context: JobContext) => {
      await hold(context.signal);
      return okOutcome();
    };
    const touched = await stopping.submit(
      described({ run: async (context) => context.touch().then(() => (began.resolve(), run(context))) }),
    );
    const untouched = await stopping.submit(described({ run }));
    const waiting = await stopping.submit(described({ run: () => assert.fail('it ran here') }));
    await began.promise;
    await stopping.drain(0);
    await stopping.stop();
    const other = startWorker();
    assert.equal(await codeOf(other.jobs, touched.jobId), 'draining');
    for (const { jobId } of [untouched, waiting]) assert.equal((await other.jobs.get('anna', jobId, untilDone)).status, 'ok');
    assert.deepEqual(other.ran.toSorted(), [untouched.jobId, waiting.jobId].toSorted());
  });

  it('a worker that stops leaves a job that nobody takes to a worker that starts later', async () => {
    const { jobs: stopping } = startWorker({ runningMax: 1 });
    const { jobId } = await stopping.submit(
      described({ queuedMsMax: 600_000, run: async ({ signal }) => hold(signal).then(() => okOutcome()) }),
    );
    await stopping.stop();
    assert.equal((await rowOf(jobId)).worker_id, '');
    clock.advance(61_000);
    const other = startWorker();
    assert.equal((await other.jobs.get('anna', jobId, untilDone)).status, 'ok');
  });
});

/** The ranks of those of the jobs that are offered, in the same order. */
async function offersOf(jobIds: string[]): Promise<Map<string, number>> {
  const { rows } = await sql<{ job_id: string; offer_rank: number }>`select job_id, offer_rank from jobs
    where job_id = any(${jobIds}) and offered_at is not null order by array_position(${jobIds}, job_id)`.execute(
    database.store.tables<unknown>(),
  );
  return new Map(rows.map(({ job_id, offer_rank }) => [job_id, offer_rank]));
}

const fleetOf = () => ({ listener: new Listener({ databaseUrl: database.url, channel: offersChannel, log: silentLog }), secret });

/** A worker with one slot. */
function makeBusy(): Jobs {
  const { jobs } = startWorker({ runningMax: 1, queuedMax: 50 });
  return jobs;
}
