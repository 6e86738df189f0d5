import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ServiceError } from '@berth/contract';
import { ManualClock } from '../lib/clock.ts';
import type { LiveSession } from '../sessions/sessions.ts';
import { told } from './told.ts';

function makeSession() {
  const events: [type: string, data: Record<string, unknown>][] = [];
  const abort = new AbortController();
  const session = { abort, events: { tell: (type: string, data: Record<string, unknown>) => void events.push([type, data]) } };
  return { session: session as unknown as LiveSession, abort, events, clock: new ManualClock() };
}

describe('an action', () => {
  it('is told when it is done, with how long it took and what its caller named', async () => {
    const made = makeSession();
    const result = await told(made, { name: 'navigate', url: 'https://shop.test/' }, async () => {
      assert.deepEqual(made.events, []);
      made.clock.advance(42.4);
      return 'done';
    });
    assert.equal(result, 'done');
    assert.deepEqual(made.events, [['action', { name: 'navigate', status: 'ok', duration_ms: 42, url: 'https://shop.test/' }]]);
  });

  it('is told with the code of its error, and of what went wrong otherwise nothing', async () => {
    const made = makeSession();
    const fail = (error: Error) => told(made, { name: 'upload' }, () => Promise.reject(error));
    await assert.rejects(fail(new ServiceError('upload_limit_reached', 'Too many.')), { code: 'upload_limit_reached' });
    await assert.rejects(fail(new Error('of a secret kind')), /secret/);
    assert.deepEqual(made.events, [
      ['action', { name: 'upload', status: 'error', error_code: 'upload_limit_reached', duration_ms: 0 }],
      ['action', { name: 'upload', status: 'error', duration_ms: 0 }],
    ]);
  });

  it('is not told after the end of its session, which is the last that is', async () => {
    const made = makeSession();
    const work = (): Promise<void> => {
      made.abort.abort();
      return Promise.reject(new Error('gone'));
    };
    await assert.rejects(told(made, { name: 'pdf' }, work));
    assert.deepEqual(made.events, []);
  });
});
