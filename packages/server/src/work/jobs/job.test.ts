import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newId } from '@berth/lib/ids.ts';
import { sessionIdOf, type JobSession } from './job.ts';

test('a job names a session only while there is one, and in the end the one that its result names', () => {
  const sessionId = newId('ses');
  const other = newId('ses');
  const named = (session: JobSession | undefined, more: { startedAt?: Date; result?: Record<string, unknown> } = {}) =>
    sessionIdOf({ sessionId, subject: session ? { job_session: session } : {}, startedAt: null, result: null, ...more });
  const startedAt = new Date();
  assert.deepEqual([named('known'), named('own'), named('none'), named(undefined)], [sessionId, null, null, null]);
  assert.deepEqual([named('own', { startedAt }), named('none', { startedAt })], [sessionId, null]);
  for (const session of ['known', 'own', 'none'] as const) {
    assert.equal(named(session, { startedAt, result: { session_id: other } }), other);
    assert.equal(named(session, { startedAt, result: { session_id: null } }), null);
  }
});
