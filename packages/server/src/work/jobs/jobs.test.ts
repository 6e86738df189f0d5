import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { ServiceError } from '@berth/contract';
import { sql } from 'kysely';
import { newId } from '@berth/lib/ids.ts';
import { silentLog } from '@berth/lib/log.ts';
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
import { newJobId, resultBytesMax, stageOf, type Jobs } from './jobs.ts';
import { trimResults } from './store.ts';

let database: TestStore;
before(async () => {
  database = await testStore();
  await insertOwners(database.store, ['anna', 'bert', 'cora']);
});
after(() => database.drop());

describe('a job', () => {
  it('a job is in the store when its submission resolves, and has the outcome of its work', async () => {
    const jobs = makeJobs(database.store);
    const work = new Work();
    const request = requestOf({ run: work.run });
    const { jobId } = await jobs.submit(request);
    assert.equal(jobId.split('.')[0], request.sessionId);
    assert.equal((await makeJobs(database.store).get('anna', jobId, noWait)).status, 'pending');
    await work.started.promise;
    clock.advance(1500);
    work.end({ title: 'A page' });
    const record = await jobs.get('anna', jobId, untilDone);
    assert.deepEqual([record.status, record.result, record.error, record.usage], ['ok', { title: 'A page' }, null, okOutcome().usage]);
    assert.equal(record.finishedAt?.getTime(), clock.now().getTime());
    assert.equal((record.startedAt?.getTime() ?? 0) - record.createdAt.getTime(), 0);
    assert.equal((record.expiresAt?.getTime() ?? 0) - clock.now().getTime(), 24 * hourMs);
    // The end is in the store a moment before its writer hears of it.
    await jobs.drain(30_000);
    assert.deepEqual(jobs.load, { pending: 0, slots: 0 });
  });

  it('a job keeps every character of its result, error and progress', async () => {
    const odd = 'a\u0000b \ud800 \u2028 \u{1f600}';
    const jobs = makeJobs(database.store);
    const error = { code: 'navigation_failed', message: odd, retryable: true, details: { odd } };
    const run = async ({ progress }: Parameters<Work['run']>[0]) => {
      progress(1, 2, odd);
      return Promise.resolve({ ...okOutcome({ html: odd, [odd]: [null, 1.5] }), status: 'blocked' as const, error });
    };
    const { jobId } = await jobs.submit(requestOf({ run }));
    const record = await jobs.get('anna', jobId, untilDone);
    assert.deepEqual([record.status, record.result, record.error], ['blocked', { html: odd, [odd]: [null, 1.5] }, error]);
    assert.deepEqual(record.progress, { step: 1, total: 2, note: odd });
  });

  it('a job reports its stage and its progress, to other workers within a second', async () => {
    const jobs = makeJobs(database.store, { runningMax: 1 });
    const elsewhere = makeJobs(database.store);
    const works = [new Work(), new Work()] as const;
    const first = await jobs.submit(requestOf({ run: works[0].run }));
    const second = await jobs.submit(requestOf({ run: works[1].run }));
    const { progress } = await works[0].started.promise;
    assert.deepEqual(await Promise.all([first, second].map(async ({ jobId }) => stageOf(await jobs.get('anna', jobId, noWait)))), [
      'running',
      'queued',
    ]);
    progress(1, 3, 'loading');
    const seenBy = async (worker: Jobs) => (await worker.get('anna', first.jobId, noWait)).progress;
    assert.deepEqual(await seenBy(jobs), { step: 1, total: 3, note: 'loading' });
    await turn(jobs.reconciliation);
    assert.equal((await seenBy(elsewhere)).step, 0, 'written more than once a second');
    clock.advance(1000);
    await turn(jobs.reconciliation);
    assert.deepEqual(await seenBy(elsewhere), { step: 1, total: 3, note: 'loading' });
    works[0].end();
    await works[1].started.promise;
    works[1].end();
    assert.equal(stageOf(await jobs.get('anna', second.jobId, untilDone)), 'done');
  });

  it('a job reports a ServiceError of its work, and no detail of any other error', async () => {
    const logged: object[] = [];
    const jobs = makeJobs(database.store, { log: { ...silentLog, error: (fields) => void logged.push(fields) } });
    const failure = new ServiceError('navigation_failed', 'No such host.', { details: { reason: 'dns_failed' }, internal: 'secret' });
    const known = await jobs.submit(requestOf({ run: () => Promise.reject(failure) }));
    const { error } = await jobs.get('anna', known.jobId, untilDone);
    assert.deepEqual(error, { code: 'navigation_failed', message: 'No such host.', retryable: true, details: { reason: 'dns_failed' } });
    const run = () => {
      throw new Error('password: hunter2');
    };
    const unknown = await jobs.submit(requestOf({ run }));
    const record = await jobs.get('anna', unknown.jobId, untilDone);
    assert.equal(record.error?.code, 'internal_error');
    assert.doesNotMatch(JSON.stringify(record), /hunter2/);
    assert.equal(logged.length, 1);
  });

  it('a job whose error is too large to store ends with it all the same, without its details', async () => {
    const jobs = makeJobs(database.store);
    for (const details of [{ number: 1n }, { text: 'x'.repeat(100_000) }]) {
      const failure = new ServiceError('navigation_failed', 'No such host.', { details });
      const { jobId } = await jobs.submit(requestOf({ run: () => Promise.reject(failure) }));
      assert.deepEqual((await jobs.get('anna', jobId, untilDone)).error, {
        code: 'navigation_failed',
        message: 'No such host.',
        retryable: true,
      });
    }
  });

  it('a job whose result is too large, or is no JSON, ends as an error', async () => {
    const jobs = makeJobs(database.store);
    const codeOfResult = async (result: Record<string, unknown>) =>
      codeOf(jobs, (await jobs.submit(requestOf({ run: () => Promise.resolve(okOutcome(result)) }))).jobId);
    assert.equal(await codeOfResult({ html: 'x'.repeat(resultBytesMax) }), 'result_too_large');
    const deep: Record<string, unknown> = {};
    let inner = deep;
    for (let depth = 0; depth < 100_000; depth += 1) inner = inner['in'] = {};
    assert.equal(await codeOfResult(deep), 'result_too_large');
    assert.equal(await codeOfResult({ number: 1n }), 'internal_error');
  });

  it('a job may have a result of just the largest size', async () => {
    const jobs = makeJobs(database.store);
    const html = 'x'.repeat(resultBytesMax - '{"html":""}'.length);
    const { jobId } = await jobs.submit(requestOf({ run: () => Promise.resolve(okOutcome({ html })) }));
    const record = await jobs.get('anna', jobId, untilDone);
    assert.ok(record.status === 'ok' && record.result?.['html'] === html);
  });

  it('a job that exceeds its time limit is ended', async () => {
    const jobs = makeJobs(database.store);
    const work = new Work();
    const { jobId } = await jobs.submit(requestOf({ run: work.run, runMsMax: 30_000 }));
    const { signal } = await work.started.promise;
    clock.advance(39_000);
    await turn(jobs.reconciliation);
    assert.equal(signal.aborted, false);
    clock.advance(2_000);
    await turn(jobs.reconciliation);
    assert.equal(signal.aborted, true);
    assert.equal(await codeOf(jobs, jobId), 'deadline_exceeded');
    // The end is in the store a moment before its writer hears of it.
    await jobs.drain(30_000);
    assert.deepEqual(jobs.load, { pending: 0, slots: 1 });
    clock.advance(31_000);
    await turn(jobs.reconciliation);
    assert.deepEqual(jobs.load, { pending: 0, slots: 0 }, 'work that does not listen keeps its place');
  });

  it('a job of an unknown owner is refused, and leaves nothing', async () => {
    const jobs = makeJobs(database.store);
    await assert.rejects(jobs.submit(requestOf({ owner: 'nobody' })));
    assert.deepEqual(jobs.load, { pending: 0, slots: 0 });
  });
});

describe('a poll', () => {
  const twoWorkers = async () => {
    const jobs = makeJobs(database.store);
    const work = new Work();
    const { jobId } = await jobs.submit(requestOf({ run: work.run }));
    await work.started.promise;
    return { jobs, elsewhere: makeJobs(database.store), work, jobId };
  };

  it('a poll for a job waits for the end, on whichever worker it is asked', async () => {
    const { jobs, elsewhere, work, jobId } = await twoWorkers();
    const polls = [jobs, jobs, elsewhere].map((worker) => worker.get('anna', jobId, untilDone));
    work.end();
    const [first, ...others] = await Promise.all(polls);
    assert.equal(first?.status, 'ok');
    for (const other of others) assert.deepEqual(other, first);
  });

  it('a poll for a job ends when its time is over, with the job as it is', async () => {
    const { jobs, elsewhere, work, jobId } = await twoWorkers();
    for (const worker of [jobs, elsewhere])
      assert.equal((await worker.get('anna', jobId, { ...noWait, waitSeconds: 0.05 })).status, 'pending');
    work.end();
  });

  it('a poll for a job ends with its signal', async () => {
    const { jobs, elsewhere, work, jobId } = await twoWorkers();
    for (const worker of [jobs, elsewhere]) {
      const caller = new AbortController();
      const poll = worker.get('anna', jobId, { waitSeconds: 25, signal: caller.signal });
      const reason = new Error('disconnected');
      caller.abort(reason);
      await assert.rejects(poll, reason);
    }
    work.end();
  });
});

describe('an id', () => {
  it('an id of somebody else’s job, or mixed from two, is an unknown one', async () => {
    const jobs = makeJobs(database.store);
    const mine = await jobs.submit(requestOf({ owner: 'bert' }));
    const foreign = await jobs.submit(requestOf());
    const [mySession, myUuid] = mine.jobId.split('.');
    const [itsSession, itsUuid] = foreign.jobId.split('.');
    const ids = [foreign.jobId, `${mySession}.${itsUuid}`, `${itsSession}.${myUuid}`, newJobId(newId('ses'))];
    for (const jobId of ids) {
      await assert.rejects(jobs.get('bert', jobId, untilDone), hasCode('job_not_found'));
      await assert.rejects(jobs.cancel('bert', jobId), hasCode('job_not_found'));
    }
    assert.notEqual((await jobs.get('anna', foreign.jobId, untilDone)).error?.code, 'cancelled');
  });

  it('an invalid job id is unknown, and the store is not asked', async () => {
    const jobs = makeJobs({ ...database.store, tables: () => assert.fail('the store was asked') });
    const good = newJobId(newId('ses'));
    const odd = [
      '',
      '.',
      newId('ses'),
      `${newId('ses')}.`,
      good.split('.')[1] ?? '',
      `${good}.x`,
      `${good} `,
      `${good}\u0000`,
      `${good}\n`,
      good.toUpperCase(),
      good.replace('ses_', 'vm_'),
      'http://169.254.169.254.x',
      '../x.y',
      `../${good}`,
      '.'.repeat(50),
      'x'.repeat(10_000),
      good.repeat(200),
      'constructor',
      '__proto__.x',
      '💥',
    ];
    for (const jobId of odd) {
      await assert.rejects(jobs.get('anna', jobId, untilDone), hasCode('job_not_found'), jobId);
      await assert.rejects(jobs.cancel('anna', jobId), hasCode('job_not_found'), jobId);
    }
  });
});

describe('an old job', () => {
  const rowOf = async (jobId: string) => {
    const { rows } = await sql<{
      result: Buffer | null;
      error: Buffer | null;
    }>`select result, error from jobs where job_id = ${jobId}`.execute(database.store.tables<unknown>());
    return rows[0];
  };

  it('an old job expires early when newer results of its owner need the space', async () => {
    const jobs = makeJobs(database.store);
    const outcome = okOutcome({ page: 'x'.repeat(1000) });
    const ids: string[] = [];
    for (let count = 0; count < 3; count += 1) {
      clock.advance(1);
      const { jobId } = await jobs.submit(requestOf({ owner: 'cora', run: () => Promise.resolve(outcome) }));
      await jobs.get('cora', jobId, untilDone);
      ids.push(jobId);
    }
    await trimResults(database.store, 'cora', { bytes: 2500, now: clock.now() });
    const [oldest = '', ...newer] = ids;
    await assert.rejects(jobs.get('cora', oldest, noWait), hasCode('job_expired'));
    for (const id of newer) assert.deepEqual((await jobs.get('cora', id, noWait)).result, { page: 'x'.repeat(1000) });
    await jobs.stop();
  });

  it('an old job is expired a day after its end, to its owner alone, and unknown thirty days later', async () => {
    const jobs = makeJobs(database.store);
    const ids: string[] = [];
    for (let count = 0; count < 4; count += 1) ids.push((await jobs.submit(requestOf())).jobId);
    const [jobId = ''] = ids;
    for (const id of ids) await jobs.get('anna', id, untilDone);
    const open = await jobs.submit(requestOf({ run: new Work().run, runMsMax: 100 * 24 * hourMs }));
    clock.advance(24 * hourMs - 1);
    await turn(jobs.expiry);
    assert.equal((await jobs.get('anna', jobId, noWait)).status, 'ok');
    clock.advance(1);
    for (const expire of [() => Promise.resolve(), () => turn(jobs.expiry)]) {
      await expire();
      await assert.rejects(jobs.get('anna', jobId, noWait), hasCode('job_expired'));
      await assert.rejects(jobs.cancel('anna', jobId), hasCode('job_expired'));
      await assert.rejects(jobs.get('bert', jobId, noWait), hasCode('job_not_found'));
    }
    for (const id of ids) assert.deepEqual(await rowOf(id), { result: null, error: null });
    clock.advance(30 * 24 * hourMs);
    await turn(jobs.expiry);
    await assert.rejects(jobs.get('anna', jobId, noWait), hasCode('job_expired'));
    clock.advance(1);
    await turn(jobs.expiry);
    await assert.rejects(jobs.get('anna', jobId, noWait), hasCode('job_not_found'));
    assert.equal(await rowOf(jobId), undefined);
    assert.equal((await jobs.get('anna', open.jobId, noWait)).status, 'pending');
  });
});
