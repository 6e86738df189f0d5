import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, describe, it } from 'node:test';
import {
  cancelJob,
  createKey,
  createSession,
  endSession,
  fetchPage,
  getFetchJob,
  getJob,
  getSession,
  listAllSessions,
  type FetchResponse,
  type JobResponse,
} from '@berth/contract';
import { comparable, jobIdOf, type Client } from '../../harness.ts';
import { nightly } from '../../nightly.ts';
import { Service, eventually, stopAll } from '../service.ts';
import { page, startSite, type Site } from '../site.ts';

const exited = /^State:\s+[ZX]/m;
/** Fields that differ between any two fetches. */
const ownFields = ['job_id', 'session_id', 'poll_url', 'created_at', 'finished_at', 'timings', 'attempts', 'headers', 'bytes', 'usage'];

describe('fetches as jobs', () => {
  let site: Site;
  const held: (() => void)[] = [];
  before(async () => {
    const later = (_: unknown, response: { end(body: string): unknown; setHeader(name: string, value: string): unknown }): void =>
      void held.push(() => {
        response.setHeader('content-type', 'text/html');
        response.end(page('Later', '<p>It came in the end.</p>'));
      });
    site = await startSite({ pages: { '/later': later } });
  });
  after(() => site.close());
  const letGo = (): void => {
    for (const end of held.splice(0)) end();
  };
  const submit = async (client: Client, body: Record<string, unknown>): Promise<FetchResponse & { job_id: string }> => {
    const reply = await client.call(fetchPage, { body: { ...body, async: true } });
    assert.equal(reply.status, 200, reply.text);
    assert.equal(reply.body.status, 'pending');
    assert.ok(reply.body.poll_url?.endsWith(`/v1/fetch/job/${reply.body.job_id}`));
    assert.equal(reply.headers.get('location'), reply.body.poll_url);
    assert.equal(reply.headers.get('retry-after'), '1');
    return { ...reply.body, job_id: jobIdOf(reply.body) };
  };
  const poll = async (client: Client, job_id: string, seconds = 0): Promise<FetchResponse> =>
    (await client.call(getFetchJob, { params: { job_id }, query: { wait_seconds: String(seconds) } })).body;
  const readJob = async (client: Client, job_id: string, seconds = 0): Promise<JobResponse> =>
    (await client.call(getJob, { params: { job_id }, query: { wait_seconds: String(seconds) } })).body;

  describe('on a running service', () => {
    let service: Service;
    let client: Client;
    before(async () => {
      service = await Service.start({ environment: { BERTH_EGRESS_ALLOW: site.host, BERTH_JOBS_RUNNING_MAX: '3' } });
      client = service.client;
    });
    after(() => service.close());

    it('fetch jobs are pending until the page is fetched, and wake waiting callers', async () => {
      for (const mode of ['browser', 'http', 'auto']) {
        const submitted = await submit(client, { url: `${site.url}/later`, mode, metadata: { order: '7' } });
        await eventually('the page is requested', () => held.length > 0);
        const early = await poll(client, submitted.job_id);
        assert.deepEqual([early.status, early.html, early.finished_at, early.metadata], ['pending', null, null, { order: '7' }]);
        assert.equal((await poll(client, submitted.job_id, 1)).status, 'pending', 'a poll ends although the job does not');
        const running = await readJob(client, submitted.job_id);
        assert.deepEqual([running.status, running.stage, running.kind, running.result], ['pending', 'running', 'fetch', null]);
        assert.deepEqual([running.progress.step, running.progress.total], [1, 2]);
        const waiting = poll(client, submitted.job_id, 25);
        letGo();
        const done = await waiting;
        assert.deepEqual([done.status, done.title, done.job_id, done.metadata], ['ok', 'Later', submitted.job_id, { order: '7' }]);
        assert.ok(done.html?.includes('It came in the end.'));
        const job = await readJob(client, submitted.job_id);
        assert.deepEqual([job.status, job.stage, job.error], ['ok', 'done', null]);
        assert.deepEqual({ ...(job.result as FetchResponse), poll_url: done.poll_url }, done);
        assert.ok(
          job.started_at !== null && job.finished_at !== null && job.created_at <= job.started_at && job.started_at <= job.finished_at,
        );
        assert.ok(Date.parse(job.expires_at ?? '') - Date.parse(job.finished_at) === 24 * 3_600_000);
        assert.deepEqual(job.usage, done.usage);
      }
    });

    it('fetch jobs have the same format as a synchronous response', async () => {
      for (const path of ['/', '/status/404', '/status/503', '/reset', '/file', '/headers'])
        for (const mode of ['browser', 'http']) {
          const body = { url: site.url + path, mode, formats: ['html', 'text', 'links', 'metadata', 'tables'], retry: { max_attempts: 1 } };
          const now = (await client.call(fetchPage, { body })).body;
          const { job_id } = await submit(client, body);
          const later = await poll(client, job_id, 25);
          assert.deepEqual(Object.keys(later).sort(), Object.keys(now).sort(), path);
          const reported = (answer: FetchResponse): object =>
            Object.fromEntries(
              Object.entries(answer).filter(([name]) => !ownFields.includes(name) && !(path === '/headers' && name === 'raw')),
            );
          assert.deepEqual(reported(later), reported(now), `${mode} ${path}`);
        }
    });

    it('fetch jobs belong to the given session and contain its id', async () => {
      const { session_id } = (await client.call(createSession, { body: {} })).body;
      const { job_id } = await submit(client, { url: `${site.url}/second`, session_id });
      assert.ok(job_id.startsWith(`${session_id}.`));
      const done = await poll(client, job_id, 25);
      assert.deepEqual([done.status, done.session_id], ['ok', session_id]);
      assert.equal((await client.call(getSession, { params: { session_id } })).body.current_url, `${site.url}/second`);
      await client.call(endSession, { params: { session_id } });
      assert.equal((await poll(client, job_id)).status, 'ok', 'the result outlives its session');
      await client.refuse(fetchPage, 'session_ended', { body: { url: site.url, session_id, async: true } });
    });

    it('fetch jobs that are cancelled stop and stay cancelled', async () => {
      const { job_id } = await submit(client, { url: `${site.url}/later`, timeout_ms: 60_000 });
      await eventually('the page is requested', () => held.length > 0);
      const waiting = poll(client, job_id, 25);
      const { body: reported } = await client.call(cancelJob, { params: { job_id } });
      assert.deepEqual(
        [reported.status, reported.stage, reported.error?.code, reported.error?.retryable],
        ['error', 'done', 'cancelled', false],
      );
      assert.equal((await waiting).error?.code, 'cancelled');
      letGo();
      assert.equal((await client.call(cancelJob, { params: { job_id } })).body.error?.code, 'cancelled');
      assert.deepEqual([(await poll(client, job_id)).status, (await poll(client, job_id)).html], ['error', null]);
      const done = await submit(client, { url: site.url });
      assert.equal((await poll(client, done.job_id, 25)).status, 'ok');
      assert.equal((await client.call(cancelJob, { params: { job_id: done.job_id } })).body.status, 'ok', 'what is done is not undone');
    });

    it('fetch jobs can be cancelled while queued', async () => {
      const jobs = [];
      for (let n = 0; n < 5; n += 1)
        jobs.push((await submit(client, { url: `${site.url}/later`, mode: 'http', timeout_ms: 60_000 })).job_id);
      await eventually('three are running', () => held.length === 3);
      const stages = await Promise.all(jobs.map(async (job_id) => (await readJob(client, job_id)).stage));
      assert.deepEqual(stages, ['running', 'running', 'running', 'queued', 'queued']);
      await client.call(cancelJob, { params: { job_id: jobs[4] ?? '' } });
      letGo();
      await eventually('the fourth has started', () => held.length === 1);
      letGo();
      const ends = await Promise.all(jobs.map((job_id) => poll(client, job_id, 25)));
      assert.deepEqual(
        ends.map(({ status, error }) => error?.code ?? status),
        ['ok', 'ok', 'ok', 'ok', 'cancelled'],
      );
      assert.equal(held.length, 0, 'a job that was cancelled before its turn was begun');
    });

    it('fetch jobs are answered 404 to other owners and for malformed ids', async () => {
      const { body: foreign } = await client.call(createKey, { body: { owner: 'somebody-else' } });
      const key = foreign.key ?? '';
      const mine = (await client.call(createSession, { body: {} })).body.session_id;
      const { job_id } = await submit(client, { url: site.url, mode: 'http' });
      const [session = '', uuid = ''] = job_id.split('.');
      const theirs = jobIdOf((await client.call(fetchPage, { body: { url: site.url, mode: 'http', async: true }, key })).body);
      const [theirSession = '', theirUuid = ''] = theirs.split('.');
      const hits = site.connections();
      await poll(client, job_id, 25);
      await client.call(getFetchJob, { params: { job_id: theirs }, query: { wait_seconds: '25' }, key });
      const made = site.connections() - hits;
      const wrong = [
        theirs,
        `${mine}.${theirUuid}`,
        `${theirSession}.${uuid}`,
        `${session}.${theirUuid}`,
        `${session}.${'0'.repeat(8)}-0000-4000-8000-${'0'.repeat(12)}`,
        session,
        uuid,
        `${session}.`,
        `.${uuid}`,
        `${job_id}.${uuid}`,
        job_id.toUpperCase(),
        `${job_id} `,
        `http://169.254.169.254.${uuid}`,
        `http://${site.host}/.${uuid}`,
        `../${session}.${uuid}`,
        `..%2f..%2fetc.${uuid}`,
        "' or 1=1 --",
        '...',
        '.'.repeat(500),
      ];
      const answers = new Set<string>();
      for (const endpoint of [getFetchJob, getJob, cancelJob])
        for (const id of wrong) {
          const { reply } = await client.refuse(endpoint, 'job_not_found', { params: { job_id: id } });
          answers.add(comparable({ ...reply, headers: new Headers() }));
        }
      assert.equal(answers.size, 1, [...answers].join('\n'));
      for (const endpoint of [getFetchJob, getJob, cancelJob]) {
        await client.refuse(endpoint, 'job_not_found', { params: { job_id: `${job_id}\0` } });
        const long = await client.send(endpoint, { params: { job_id: `${session}.${'a'.repeat(10_000)}` } });
        assert.ok([400, 404, 414, 422].includes(long.status), `${long.status}`);
        await client.refuse(endpoint, 'job_not_found', { params: { job_id }, key });
      }
      assert.equal(site.connections() - hits, made, 'an id led to a connection');
      assert.equal((await poll(client, job_id)).status, 'ok');
      await client.call(endSession, { params: { session_id: mine } });
    });

    it('fetch jobs refuse an invalid poll', async () => {
      const { job_id } = await submit(client, { url: site.url, mode: 'http' });
      for (const wait_seconds of ['26', '-1', 'x', '1e9'])
        await client.issues(getFetchJob, { params: { job_id }, query: { wait_seconds } });
    });
  });

  describe('on a service that is killed', () => {
    // The database is its own: on one that others may share, a killed worker is lost only when its lease is over.
    const dataDir = mkdtempSync(join(tmpdir(), 'berth-jobs-'));
    afterEach(stopAll);
    after(() => rmSync(dataDir, { recursive: true, force: true }));

    const modes = ['browser', 'http'];
    const start = (more: Record<string, string> = {}): Promise<Service> =>
      Service.start({ environment: { BERTH_EGRESS_ALLOW: site.host, BERTH_JOBS_RUNNING_MAX: '2', ...more }, dataDir });

    it('fetch jobs of a service that is killed are reported as lost, finished jobs keep their results, and nothing is left', async () => {
      const service = await start();
      const { client } = service;
      const finished = await Promise.all(modes.map((mode) => submit(client, { url: `${site.url}/second`, mode })));
      const before = await Promise.all(finished.map(({ job_id }) => poll(client, job_id, 25)));
      for (const { status } of before) assert.equal(status, 'ok');
      const cancelled = await submit(client, { url: `${site.url}/later`, timeout_ms: 60_000 });
      await eventually('the page is requested', () => held.length === 1);
      await client.call(cancelJob, { params: { job_id: cancelled.job_id } });
      const jobs: string[] = [];
      for (const mode of ['browser', 'http', 'browser', 'http', 'browser'])
        jobs.push((await submit(client, { url: `${site.url}/later`, mode, timeout_ms: 60_000 })).job_id);
      await eventually('two are running', () => held.length === 3);
      const pids = (await client.call(listAllSessions)).body.flatMap(({ pid }) => (pid ? [pid] : []));
      assert.ok(pids.length > 0);
      process.kill(service.pid, 'SIGKILL');
      await eventually('no process of the machines is left', () => pids.every((pid) => !isAlive(pid)));
      letGo();

      const again = await start();
      const ends = await Promise.all(jobs.map((job_id) => poll(again.client, job_id, 25)));
      for (const [n, { status, error, job_id, url, finished_at }] of ends.entries()) {
        assert.deepEqual(
          [status, error?.code, error?.retryable, job_id, url],
          ['error', 'worker_lost', true, jobs[n], `${site.url}/later`],
        );
        assert.ok(finished_at);
        const job = await readJob(again.client, job_id ?? '');
        assert.deepEqual([job.status, job.stage, job.error?.code], ['error', 'done', 'worker_lost']);
      }
      for (const done of before) {
        // The service has another port now.
        const later = await poll(again.client, done.job_id ?? '');
        assert.deepEqual({ ...later, poll_url: done.poll_url }, done);
      }
      assert.equal((await poll(again.client, cancelled.job_id)).error?.code, 'cancelled');
      for (const mode of modes) {
        const next = await submit(again.client, { url: `${site.url}/second`, mode });
        assert.equal((await poll(again.client, next.job_id, 25)).status, 'ok');
      }
      assert.equal(held.length, 0, 'a lost job was begun again');
      assert.equal(await again.stop(), 0);
      assert.deepEqual(leftovers(dataDir), []);
    });

    it('fetch jobs are ended by a graceful stop and can be polled afterwards', nightly, async () => {
      const service = await start({ BERTH_DRAIN_SECONDS: '1' });
      const jobs: string[] = [];
      for (let n = 0; n < 3; n += 1) jobs.push((await submit(service.client, { url: `${site.url}/later`, timeout_ms: 60_000 })).job_id);
      await eventually('two are running', () => held.length === 2);
      assert.equal(await service.stop(), 0);
      letGo();
      assert.deepEqual(leftovers(dataDir), []);
      const again = await start();
      for (const job_id of jobs) {
        const { status, error } = await poll(again.client, job_id);
        assert.deepEqual([status, error?.code, error?.retryable], ['error', 'draining', true]);
      }
      await again.stop();
    });
  });
});

const leftovers = (dataDir: string): string[] => (existsSync(join(dataDir, 'machines')) ? readdirSync(join(dataDir, 'machines')) : []);

function isAlive(pid: number): boolean {
  try {
    return !exited.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}
