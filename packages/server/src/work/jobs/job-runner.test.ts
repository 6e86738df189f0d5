import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { ServiceError } from '@berth/contract';
import { assertPrompt } from '../../../../../tests/yardstick.ts';
import { newId } from '@berth/lib/ids.ts';
import { testStore, type TestStore } from '../../../testing/test-store.ts';
import {
  clock,
  codeOf,
  hourMs,
  insertOwners,
  makeJobs,
  requestOf,
  okOutcome,
  hasCode,
  turn,
  noWait,
  untilDone,
  Work,
} from '../../../testing/jobs.ts';

let database: TestStore;
before(async () => {
  database = await testStore();
  await insertOwners(database.store, ['anna', 'bert', 'cora']);
});
after(() => database.drop());

describe('the queue', () => {
  it('the job queue runs an owner’s jobs in the order they came, so many at once, and refuses one too many', async () => {
    const jobs = makeJobs(database.store, { runningMax: 2, queuedMax: 3 });
    const started: number[] = [];
    const works = Array.from({ length: 5 }, () => new Work());
    const ids: string[] = [];
    for (const [index, work] of works.entries()) {
      const run: Work['run'] = (context) => (started.push(index), work.run(context));
      ids.push((await jobs.submit(requestOf({ run }))).jobId);
    }
    await assert.rejects(
      jobs.submit(requestOf()),
      (error) => hasCode('no_capacity')(error) && (error as ServiceError).retryAfterSeconds !== undefined,
    );
    for (const [index, work] of works.entries()) {
      await work.started.promise;
      // It runs beside this one.
      await works[index + 1]?.started.promise;
      assert.deepEqual(started, [0, 1, 2, 3, 4].slice(0, Math.min(5, Math.max(2, index + 2))).slice(0, started.length));
      assert.ok(started.length <= index + 2);
      work.end();
      await jobs.get('anna', ids[index] ?? '', untilDone);
    }
    assert.deepEqual(started, [0, 1, 2, 3, 4]);
  });

  it('the job queue lets nobody wait behind all that somebody else has queued', async () => {
    const jobs = makeJobs(database.store, { runningMax: 1, queuedMax: 20 });
    const started: string[] = [];
    const ids = new Map<string, string>();
    const blocker = new Work();
    await jobs.submit(requestOf({ run: blocker.run }));
    for (const name of ['anna1', 'anna2', 'anna3', 'bert1', 'bert2', 'cora1']) {
      const run = () => (started.push(name), Promise.resolve(okOutcome()));
      ids.set(name, (await jobs.submit(requestOf({ owner: name.slice(0, 4), run }))).jobId);
    }
    blocker.end();
    for (const [name, jobId] of ids) await jobs.get(name.slice(0, 4), jobId, untilDone);
    assert.deepEqual(started, ['anna1', 'bert1', 'cora1', 'anna2', 'bert2', 'anna3']);
  });

  it('the job queue reports once that work never started, for whatever reason', async () => {
    const jobs = makeJobs(database.store, { runningMax: 1 });
    const never: string[] = [];
    const work = new Work();
    const ran = await jobs.submit(requestOf({ run: work.run, onNeverStarted: () => never.push('ran') }));
    await work.started.promise;
    const cancelled = await jobs.submit(requestOf({ onNeverStarted: () => never.push('cancelled') }));
    const cancelledElsewhere = await jobs.submit(requestOf({ onNeverStarted: () => never.push('cancelled elsewhere') }));
    await jobs.submit(requestOf({ onNeverStarted: () => never.push('late') }));
    await assert.rejects(jobs.submit(requestOf({ owner: 'nobody', onNeverStarted: () => never.push('unwritten') })));
    await jobs.cancel('anna', cancelled.jobId);
    await makeJobs(database.store).cancel('anna', cancelledElsewhere.jobId);
    await turn(jobs.reconciliation);
    clock.advance(60_001);
    await turn(jobs.reconciliation);
    await jobs.cancel('anna', ran.jobId);
    work.end();
    await jobs.submit(requestOf({ onNeverStarted: () => never.push('at once') })).then(({ jobId }) => jobs.get('anna', jobId, untilDone));
    assert.deepEqual(never.toSorted(), ['cancelled', 'cancelled elsewhere', 'late', 'unwritten']);
    await jobs.stop();
  });

  it('the job queue keeps room for owners who have nothing in it', async () => {
    const jobs = makeJobs(database.store, { runningMax: 1, queuedMax: 8 });
    const work = new Work();
    await jobs.submit(requestOf({ run: work.run }));
    for (let count = 0; count < 7; count += 1) await jobs.submit(requestOf());
    await assert.rejects(jobs.submit(requestOf()), hasCode('no_capacity'));
    const { jobId } = await jobs.submit(requestOf({ owner: 'bert' }));
    work.end();
    assert.equal((await jobs.get('bert', jobId, untilDone)).status, 'ok');
  });

  it('the job queue ends a job whose turn does not come in time', async () => {
    const jobs = makeJobs(database.store, { runningMax: 1 });
    const work = new Work();
    await jobs.submit(requestOf({ run: work.run, runMsMax: 10 * hourMs }));
    const { jobId } = await jobs.submit(requestOf({ run: () => assert.fail('it ran'), queuedMsMax: 5000 }));
    clock.advance(6000);
    await turn(jobs.reconciliation);
    const record = await jobs.get('anna', jobId, untilDone);
    assert.deepEqual([record.error?.code, record.error?.retryable, record.startedAt], ['no_capacity', true, null]);
    work.end();
  });
});

describe('a cancel', () => {
  it('a cancel ends a job that runs, aborts its work and drops its result', async () => {
    const jobs = makeJobs(database.store);
    const work = new Work();
    const { jobId } = await jobs.submit(requestOf({ run: work.run }));
    const { signal } = await work.started.promise;
    const cancelled = await jobs.cancel('anna', jobId);
    assert.deepEqual([cancelled.status, cancelled.error?.code, signal.aborted], ['error', 'cancelled', true]);
    work.end();
    assert.deepEqual(await jobs.cancel('anna', jobId), cancelled);
    assert.deepEqual(await jobs.get('anna', jobId, noWait), cancelled);
  });

  it('a cancel of a job that waits takes it out of the queue', async () => {
    const jobs = makeJobs(database.store, { runningMax: 1 });
    const works = [new Work(), new Work()] as const;
    await jobs.submit(requestOf({ run: works[0].run }));
    const waiting = await jobs.submit(requestOf({ run: () => assert.fail('it ran') }));
    const last = await jobs.submit(requestOf({ run: works[1].run }));
    assert.equal((await jobs.cancel('anna', waiting.jobId)).error?.code, 'cancelled');
    works[0].end();
    await works[1].started.promise;
    works[1].end();
    assert.equal((await jobs.get('anna', last.jobId, untilDone)).status, 'ok');
  });

  it('a cancel leaves a job that is over as it is', async () => {
    const jobs = makeJobs(database.store);
    const { jobId } = await jobs.submit(requestOf());
    const done = await jobs.get('anna', jobId, untilDone);
    assert.deepEqual(await jobs.cancel('anna', jobId), done);
  });

  it('exactly one of a cancel, an end and further cancels at the same time takes effect', async () => {
    const jobs = makeJobs(database.store);
    const elsewhere = makeJobs(database.store);
    for (let time = 0; time < 20; time += 1) {
      const work = new Work();
      const { jobId } = await jobs.submit(requestOf({ run: work.run }));
      await work.started.promise;
      const cancels = [elsewhere, jobs].map((worker) => worker.cancel('anna', jobId));
      work.end();
      const [one, two] = await Promise.all(cancels);
      const latest = await jobs.get('anna', jobId, untilDone);
      assert.deepEqual(one, latest);
      assert.deepEqual(two, latest);
      assert.ok(latest.status === 'ok' ? latest.error === null : latest.error?.code === 'cancelled' && latest.result === null);
    }
  });

  it('a cancel asked of another worker takes effect at once, and is noticed where the job runs', async () => {
    const jobs = makeJobs(database.store);
    const work = new Work();
    const { jobId } = await jobs.submit(requestOf({ run: work.run }));
    const { signal } = await work.started.promise;
    const cancelled = await makeJobs(database.store).cancel('anna', jobId);
    assert.equal(cancelled.error?.code, 'cancelled');
    const aborted = new Promise((resolve) => signal.addEventListener('abort', resolve));
    jobs.start();
    await aborted;
    work.end();
    await jobs.stop();
    assert.deepEqual(await jobs.get('anna', jobId, noWait), cancelled);
  });
});

describe('a worker that dies', () => {
  it('a worker that died finds its own jobs when it is back, and ends them', async () => {
    const workerId = newId('wrk');
    const died = makeJobs(database.store, { workerId });
    const work = new Work();
    const { jobId } = await died.submit(requestOf({ run: work.run }));
    await work.started.promise;
    const back = makeJobs(database.store, { workerId });
    const own = await back.submit(requestOf({ run: new Work().run }));
    await turn(back.recovery);
    const { error, result } = await back.get('anna', jobId, noWait);
    assert.deepEqual([error?.code, error?.retryable, result], ['worker_lost', true, null]);
    assert.equal((await back.get('anna', own.jobId, noWait)).status, 'pending', 'it ended what it runs');
    work.end({ late: true });
    await turn(died.reconciliation);
    assert.equal((await back.get('anna', jobId, noWait)).result, null);
  });

  it('a worker that dies and stays silent has its jobs ended by another', async () => {
    const silent = newId('wrk');
    const died = makeJobs(database.store, { workerId: silent });
    const { jobId } = await died.submit(requestOf({ run: new Work().run }));
    const healthy = makeJobs(database.store, {});
    const living = await healthy.submit(requestOf({ run: new Work().run }));
    const other = makeJobs(database.store, { silentWorkers: () => Promise.resolve([silent]) });
    await turn(other.recovery);
    assert.equal(await codeOf(other, jobId), 'worker_lost');
    assert.equal((await other.get('anna', living.jobId, noWait)).status, 'pending');
  });

  it('a worker that dies and is forgotten has its jobs ended once they are overdue', async () => {
    const forgotten = makeJobs(database.store);
    const { jobId } = await forgotten.submit(requestOf({ run: new Work().run, queuedMsMax: 1000, runMsMax: 1000 }));
    const other = makeJobs(database.store);
    await turn(other.recovery);
    assert.equal((await other.get('anna', jobId, noWait)).status, 'pending');
    clock.advance(2 * hourMs);
    await turn(other.recovery);
    assert.equal((await other.get('anna', jobId, noWait)).status, 'pending', 'a clock that jumped ended it');
    clock.advance(60_000);
    await turn(other.recovery);
    assert.equal(await codeOf(other, jobId), 'worker_lost');
  });
});

describe('a stop', () => {
  it('a stop of the job queue refuses new jobs, and ends those that run and those that wait as retryable', async () => {
    const jobs = makeJobs(database.store, { runningMax: 1 });
    jobs.start();
    const work = new Work();
    const running = await jobs.submit(requestOf({ run: work.run }));
    const waiting = await jobs.submit(requestOf({ run: () => assert.fail('it ran') }));
    const { signal } = await work.started.promise;
    signal.addEventListener('abort', () => work.end());
    const poll = jobs.get('anna', running.jobId, untilDone);
    const inserting = jobs.submit(requestOf({ run: () => assert.fail('it ran') }));
    await jobs.stop();
    for (const { jobId } of [running, waiting, await inserting]) {
      const { error } = await jobs.get('anna', jobId, noWait);
      assert.deepEqual([error?.code, error?.retryable], ['draining', true]);
    }
    assert.equal((await poll).error?.code, 'draining');
    assert.deepEqual(jobs.load, { pending: 0, slots: 0 });
    await assert.rejects(jobs.submit(requestOf()), hasCode('draining'));
  });

  it('a stop of the job queue ends in time although the work does not listen', async () => {
    const jobs = makeJobs(database.store);
    const work = new Work();
    const { jobId } = await jobs.submit(requestOf({ run: work.run }));
    await work.started.promise;
    const startMs = performance.now();
    await jobs.stop();
    // The work itself never ends.
    assertPrompt(startMs, 30_000);
    assert.equal(await codeOf(jobs, jobId), 'draining');
  });

  it('a stop of the job queue after a drain has left the work its time to end', async () => {
    const jobs = makeJobs(database.store);
    const work = new Work();
    const { jobId } = await jobs.submit(requestOf({ run: work.run }));
    await work.started.promise;
    const drained = jobs.drain(10_000);
    await assert.rejects(jobs.submit(requestOf()), hasCode('draining'));
    work.end();
    await drained;
    await jobs.stop();
    assert.equal((await jobs.get('anna', jobId, noWait)).status, 'ok');
  });
});

describe('a store that is down', () => {
  const flaky = () => {
    const state = { isDown: false, refused: 0 };
    const store = {
      ...database.store,
      tables: <T>() => {
        if (!state.isDown) return database.store.tables<T>();
        state.refused += 1;
        throw new ServiceError('store_unavailable', 'Down.');
      },
    };
    return { state, store };
  };
  /** The job's own write comes first: a turn that begins before it has failed would have nothing to write. */
  const refusedOnce = async (state: { refused: number }): Promise<void> => {
    while (state.refused === 0) await new Promise((resolve) => setImmediate(resolve));
  };

  it('a store that is down gets the end of a job when it is back', async () => {
    const { state, store } = flaky();
    const jobs = makeJobs(store);
    const work = new Work();
    const { jobId } = await jobs.submit(requestOf({ run: work.run }));
    await work.started.promise;
    state.isDown = true;
    work.end({ isRetained: true });
    await refusedOnce(state);
    await turn(jobs.reconciliation);
    assert.ok(jobs.reconciliation.status.failures > 0);
    assert.deepEqual(jobs.load, { pending: 1, slots: 1 });
    state.isDown = false;
    await turn(jobs.reconciliation);
    assert.deepEqual((await jobs.get('anna', jobId, noWait)).result, { isRetained: true });
    assert.deepEqual(jobs.load, { pending: 0, slots: 0 });
  });

  it('a store that is down is offered a result for two minutes, and from then on only that there is none', async () => {
    const { state, store } = flaky();
    const jobs = makeJobs(store);
    const work = new Work();
    const { jobId } = await jobs.submit(requestOf({ run: work.run }));
    await work.started.promise;
    state.isDown = true;
    work.end();
    await refusedOnce(state);
    await turn(jobs.reconciliation);
    clock.advance(121_000);
    await turn(jobs.reconciliation);
    state.isDown = false;
    await turn(jobs.reconciliation);
    assert.equal(await codeOf(jobs, jobId), 'store_unavailable');
  });

  it('no job is accepted while the store is down, and nothing of it stays', async () => {
    const { state, store } = flaky();
    const jobs = makeJobs(store);
    state.isDown = true;
    await assert.rejects(jobs.submit(requestOf()), hasCode('store_unavailable'));
    assert.deepEqual(jobs.load, { pending: 0, slots: 0 });
  });
});
