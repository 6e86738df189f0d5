import assert from 'node:assert/strict';
import { test } from 'node:test';
import { StartedJobs, hostOf, type StartedJob } from './started-jobs.ts';

class MemoryStorage {
  text: string | null = null;
  read = (): string | null => this.text;
  write = (text: string): void => void (this.text = text);
  remove = (): void => void (this.text = null);
}

const job = (jobId: string, change: Partial<StartedJob> = {}): StartedJob => ({
  jobId,
  kind: 'fetch',
  title: 'a.example',
  startedAtMs: 1,
  status: 'pending',
  ...change,
});

test('started jobs are listed newest first, also after a reload', () => {
  const storage = new MemoryStorage();
  const jobs = new StartedJobs(() => storage);
  for (const id of ['a', 'b', 'a']) jobs.add(job(id));
  jobs.update('b', 'ok');
  jobs.update('of another tab', 'ok');
  const reloaded = new StartedJobs(() => storage).list.value;
  assert.deepEqual(
    reloaded.map(({ jobId, status }) => [jobId, status]),
    [
      ['a', 'pending'],
      ['b', 'ok'],
    ],
  );
});

test('the newest two hundred started jobs are kept', () => {
  const jobs = new StartedJobs(() => new MemoryStorage());
  for (let n = 0; n < 205; n += 1) jobs.add(job(`job ${n}`));
  assert.deepEqual([jobs.list.value.length, jobs.list.value[0]?.jobId], [200, 'job 204']);
});

test('the list of started jobs is empty where the stored one is damaged, foreign or refused', () => {
  for (const stored of ['{', 'null', '{"a":1}', '[1,null,{"jobId":"a"}]']) {
    const storage = new MemoryStorage();
    storage.write(stored);
    assert.deepEqual(new StartedJobs(() => storage).list.value, [], stored);
  }
  const refusing = {
    read: () => null,
    remove: () => {},
    write: () => {
      throw new Error('quota');
    },
  };
  const jobs = new StartedJobs(() => refusing);
  jobs.add(job('a'));
  assert.equal(jobs.list.value.length, 1);
});

test('clearing the list of started jobs leaves nothing in the storage', () => {
  const storage = new MemoryStorage();
  const jobs = new StartedJobs(() => storage);
  jobs.add(job('a'));
  jobs.clear();
  assert.deepEqual([jobs.list.value, storage.text], [[], null]);
});

test('the list of started jobs names a URL by its host alone', () => {
  assert.equal(hostOf('https://user:pass@shop.example:8443/reset?token=secret#x'), 'shop.example:8443');
  assert.equal(hostOf('not a URL'), '');
});

test('the list of started jobs is not stored where nothing may outlive a reload', () => {
  const jobs = new StartedJobs(() => null);
  jobs.add(job('a'));
  jobs.update('a', 'ok');
  assert.equal(jobs.list.value[0]?.status, 'ok');
  jobs.clear();
  assert.deepEqual(jobs.list.value, []);
});
