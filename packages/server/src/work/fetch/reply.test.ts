import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FetchResult, type FetchResponse } from '@berth/contract';
import type { JobRecord } from '../jobs/jobs.ts';
import { createPageResult } from './result.ts';
import { toFetchResult, toFinished, toUnfinished } from './reply.ts';
import type { FetchRunResult } from './run.ts';

const at = new Date('2026-01-01T00:00:00.000Z');
const frame = {
  jobId: 'ses_a.1',
  sessionId: null,
  subject: { url: 'http://site.test/', metadata: { job: 'x' } },
  createdAt: at,
  finishedAt: new Date(at.getTime() + 1500),
};
const outcome: FetchRunResult = {
  status: 'ok',
  page: createPageResult('http://site.test/end'),
  error: null,
  sessionId: null,
  attempts: [],
  resolvedBy: { mode: 'http', strategy: 'direct', reason: null },
  bytes: { in: 100, out: 20 },
  usage: { actions: 2, egress_bytes: 120, captcha_solves: 0, credits: 0.020024 },
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

describe('a fetch response', () => {
  it('a fetch response has every field that the contract declares and none beside', () => {
    for (const reply of [toFetchResult(frame, outcome), toUnfinished(job)]) assert.deepEqual(FetchResult.parse(reply), reply);
  });

  it('a fetch response repeats its request, and sums up its usage', () => {
    const reply = toFetchResult(frame, outcome);
    assert.deepEqual([reply.url, reply.final_url, reply.metadata], ['http://site.test/', 'http://site.test/end', { job: 'x' }]);
    assert.deepEqual(
      [reply.created_at, reply.finished_at, reply.timings.total_ms],
      ['2026-01-01T00:00:00.000Z', '2026-01-01T00:00:01.500Z', 1500],
    );
    assert.deepEqual(reply.usage, { actions: 2, egress_bytes: 120, captcha_solves: 0, credits: 0.020024 });
  });

  it('a fetch response gives times in whole milliseconds', () => {
    const result = { ...createPageResult('http://site.test/'), ttfbMs: 12.6 };
    assert.equal(toFetchResult(frame, { ...outcome, page: result }).timings.ttfb_ms, 13);
  });

  it('a fetch response lists each warning once', () => {
    const result = { ...createPageResult('http://site.test/'), warnings: ['b', 'a', 'b'] };
    assert.deepEqual(toFetchResult(frame, { ...outcome, page: result }).warnings, ['b', 'a']);
  });

  it('a fetch response returns the public part of an error', () => {
    const error = { code: 'timeout', message: 'Late.', retryable: true, reason: 'timeout' };
    const { error: workError } = toFetchResult(frame, { ...outcome, status: 'error', error });
    assert.deepEqual(workError, { code: 'timeout', message: 'Late.', retryable: true });
  });
});

describe('a job without a result', () => {
  it('a fetch job without a result is pending, without a final URL', () => {
    const reply = toUnfinished(job);
    assert.deepEqual([reply.status, reply.final_url, reply.finished_at, reply.attempts, reply.error], ['pending', null, null, [], null]);
  });

  it('a fetch job without a result returns the error once it has ended', () => {
    const error = { code: 'cancelled', message: 'It was cancelled.', retryable: false };
    const reply = toUnfinished({ ...job, status: 'error', error, finishedAt: at });
    assert.deepEqual([reply.status, reply.error, reply.finished_at], ['error', error, at.toISOString()]);
  });
});

it('a fetch result that was stored before credits existed cost none', () => {
  const { credits: _, ...usage } = outcome.usage;
  const stored = { ...toFetchResult(frame, outcome), usage } as FetchResponse;
  assert.deepEqual(FetchResult.parse(toFinished(stored)).usage, { ...usage, credits: 0 });
});

it('a fetch result that was stored before the format snapshot existed has none', () => {
  const { snapshot: _, ...stored } = toFetchResult(frame, outcome);
  assert.equal(FetchResult.parse(toFinished(stored as FetchResponse)).snapshot, null);
});
