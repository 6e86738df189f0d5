import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FetchResult, type FetchResponse } from '@berth/contract';
import type { JobRecord } from '../jobs/jobs.ts';
import { emptyFound } from './found.ts';
import { toFetchResult, toFinished, toJobOutcome, toUnfinished } from './reply.ts';
import type { FetchOutcome } from './run.ts';

const at = new Date('2026-01-01T00:00:00.000Z');
const frame = {
  jobId: 'ses_a.1',
  sessionId: null,
  subject: { url: 'http://site.test/', metadata: { job: 'x' } },
  createdAt: at,
  finishedAt: new Date(at.getTime() + 1500),
};
const outcome: FetchOutcome = {
  status: 'ok',
  found: emptyFound('http://site.test/end'),
  fault: null,
  sessionId: null,
  attempts: [],
  resolvedBy: 'http:direct',
  bytes: { in: 100, out: 20 },
  usage: { actions: 2, egress_bytes: 120, captcha_solves: 0, credits: 0.020024 },
  charge: null,
  timings: { queueMs: 1, sessionMs: 2, totalMs: 1500 },
};

const job: JobRecord = {
  jobId: 'ses_a.1',
  owner: 'local',
  sessionId: 'ses_a',
  workerId: 'wrk_a',
  kind: 'fetch',
  status: 'pending',
  subject: frame.subject,
  progress: { step: 0, total: null, note: '' },
  createdAt: at,
  startedAt: null,
  finishedAt: null,
  expiresAt: null,
  result: null,
  error: null,
  usage: null,
};

describe('a fetch’s reply', () => {
  it('has every field that the contract declares and none beside', () => {
    for (const reply of [toFetchResult(frame, outcome), toUnfinished(job)]) assert.deepEqual(FetchResult.parse(reply), reply);
  });

  it('repeats its order, and sums up what it used', () => {
    const reply = toFetchResult(frame, outcome);
    assert.deepEqual([reply.url, reply.final_url, reply.metadata], ['http://site.test/', 'http://site.test/end', { job: 'x' }]);
    assert.deepEqual(
      [reply.created_at, reply.finished_at, reply.timings.total_ms],
      ['2026-01-01T00:00:00.000Z', '2026-01-01T00:00:01.500Z', 1500],
    );
    assert.deepEqual(reply.usage, { actions: 2, egress_bytes: 120, captcha_solves: 0, credits: 0.020024 });
  });

  it('tells times in whole milliseconds', () => {
    const found = { ...emptyFound('http://site.test/'), ttfbMs: 12.6 };
    assert.equal(toFetchResult(frame, { ...outcome, found }).timings.ttfb_ms, 13);
  });

  it('tells each warning once', () => {
    const found = { ...emptyFound('http://site.test/'), warnings: ['b', 'a', 'b'] };
    assert.deepEqual(toFetchResult(frame, { ...outcome, found }).warnings, ['b', 'a']);
  });

  it('tells of a fault what the caller can use, and nothing of ours', () => {
    const fault = { code: 'timeout', message: 'Late.', retryable: true, reason: 'timeout' };
    const { error } = toFetchResult(frame, { ...outcome, status: 'error', fault });
    assert.deepEqual(error, { code: 'timeout', message: 'Late.', retryable: true });
  });
});

describe('a job that came to nothing yet', () => {
  it('is pending, with nowhere arrived at', () => {
    const reply = toUnfinished(job);
    assert.deepEqual([reply.status, reply.final_url, reply.finished_at, reply.attempts, reply.error], ['pending', null, null, [], null]);
  });

  it('tells why, once it is over', () => {
    const error = { code: 'cancelled', message: 'It was cancelled.', retryable: false };
    const reply = toUnfinished({ ...job, status: 'error', error, finishedAt: at });
    assert.deepEqual([reply.status, reply.error, reply.finished_at], ['error', error, at.toISOString()]);
  });
});

it('a result that was kept before there were credits has cost none', () => {
  const { credits: _, ...usage } = outcome.usage;
  const kept = { ...toFetchResult(frame, outcome), usage } as FetchResponse;
  assert.deepEqual(FetchResult.parse(toFinished(kept)).usage, { ...usage, credits: 0 });
});

it('a job comes to what its fetch came to', () => {
  const result = toFetchResult(frame, { ...outcome, status: 'blocked' });
  assert.deepEqual(toJobOutcome(result), { status: 'blocked', result, error: null, usage: result.usage });
});
