import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JobResponse } from '@berth/contract';
import { ApiError, unreachable } from '../../../api-error.ts';
import { watchJob, type WatchState } from './job-watch.ts';

const job = (status: JobResponse['status'], step = 0): JobResponse =>
  ({ job_id: 'a', status, progress: { step, total: null, note: '' } }) as JobResponse;
const refusal = (status: number, code: string, retryAfterSeconds: number | null = null): ApiError =>
  new ApiError('No.', { status, code, requestId: null, retryAfterSeconds });

/** Runs a watch on these replies. Returns what it showed, how long each read waited, and its pauses in ms. */
async function watch(replies: (JobResponse | ApiError)[], { pollMs = 5000 } = {}) {
  const states: WatchState[] = [];
  const waits: number[] = [];
  const pauses: number[] = [];
  let nowMs = 0;
  await watchJob({
    read: (waitSeconds) => {
      waits.push(waitSeconds);
      nowMs += waitSeconds === 0 ? 0 : pollMs;
      const reply = replies.shift();
      assert.ok(reply, 'read after the end');
      return reply instanceof ApiError ? Promise.reject(reply) : Promise.resolve(reply);
    },
    onState: (state) => states.push(state),
    signal: new AbortController().signal,
    sleep: (ms) => {
      pauses.push(ms);
      nowMs += ms;
      return Promise.resolve();
    },
    now: () => nowMs,
  });
  return { states, waits, pauses };
}

test('the watch of a job shows it at once, then its progress every five seconds, until it ends', async () => {
  const { states, waits } = await watch([job('pending'), job('pending', 3), job('ok', 4)]);
  assert.deepEqual(waits, [0, 5, 5]);
  assert.deepEqual(
    states.map((state) => state.status === 'ready' && state.job.progress.step),
    [0, 3, 4],
  );
});

test('the watch of a job does not poll faster where the service answers at once', async () => {
  const { pauses } = await watch([job('pending'), job('pending'), job('error')], { pollMs: 40 });
  assert.deepEqual(pauses, [0, 4960]);
});

test('the watch of a job goes on after the service was unreachable, and says so meanwhile', async () => {
  const { states, pauses } = await watch([unreachable(), job('pending'), refusal(429, 'rate_limited', 7), job('ok')]);
  assert.deepEqual(
    states.map((state) => [state.status, state.status !== 'failed' && state.problem?.code]),
    [
      ['loading', 'unreachable'],
      ['ready', undefined],
      ['ready', 'rate_limited'],
      ['ready', undefined],
    ],
  );
  assert.equal(pauses.at(-1), 7000);
});

test('the watch of a job ends where the job does not exist or the key is refused', async () => {
  for (const error of [refusal(404, 'job_not_found'), refusal(410, 'job_expired'), refusal(403, 'invalid_api_key')]) {
    const { states } = await watch([error]);
    assert.deepEqual(states, [{ status: 'failed', error }]);
  }
});

test('the watch of a job shows nothing after it was aborted', async () => {
  const aborter = new AbortController();
  const states: WatchState[] = [];
  const read = () => {
    aborter.abort();
    return Promise.resolve(job('pending'));
  };
  await watchJob({ read, onState: (state) => states.push(state), signal: aborter.signal });
  assert.deepEqual(states, []);
});
