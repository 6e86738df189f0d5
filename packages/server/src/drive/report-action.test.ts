import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ServiceError } from '@berth/contract';
import { ManualClock } from '../lib/clock.ts';
import type { LiveSession } from '../sessions/sessions.ts';
import { reportAction } from './report-action.ts';

function makeSession() {
  const events: [type: string, data: Record<string, unknown>][] = [];
  const abort = new AbortController();
  const session = { abort, events: { emit: (type: string, data: Record<string, unknown>) => void events.push([type, data]) } };
  return { session: session as unknown as LiveSession, abort, events, clock: new ManualClock() };
}

describe('an action', () => {
  it('is reported when it is done, with its duration and its URL', async () => {
    const fixture = makeSession();
    const result = await reportAction(fixture, { name: 'navigate', url: 'https://shop.test/' }, async () => {
      assert.deepEqual(fixture.events, []);
      fixture.clock.advance(42.4);
      return 'done';
    });
    assert.equal(result, 'done');
    assert.deepEqual(fixture.events, [['action', { name: 'navigate', status: 'ok', duration_ms: 42, url: 'https://shop.test/' }]]);
  });

  it('is reported with the code of a ServiceError, and no detail of other errors', async () => {
    const fixture = makeSession();
    const fail = (error: Error) => reportAction(fixture, { name: 'upload' }, () => Promise.reject(error));
    await assert.rejects(fail(new ServiceError('upload_limit_reached', 'Too many.')), { code: 'upload_limit_reached' });
    await assert.rejects(fail(new Error('of a secret kind')), /secret/);
    assert.deepEqual(fixture.events, [
      ['action', { name: 'upload', status: 'error', error_code: 'upload_limit_reached', duration_ms: 0 }],
      ['action', { name: 'upload', status: 'error', duration_ms: 0 }],
    ]);
  });

  it('is not reported after the end of its session', async () => {
    const fixture = makeSession();
    const work = (): Promise<void> => {
      fixture.abort.abort();
      return Promise.reject(new Error('ended'));
    };
    await assert.rejects(reportAction(fixture, { name: 'pdf' }, work));
    assert.deepEqual(fixture.events, []);
  });
});
