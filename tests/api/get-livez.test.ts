import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { livez } from '@berth/contract';
import { startApp, type TestApp } from '../harness.ts';

let served: TestApp;
before(async () => {
  served = await startApp();
});
after(() => served.close());

describe('200', () => {
  it('answers while the process responds', async () => {
    assert.deepEqual((await served.call(livez, { key: null })).body, { status: 'ok' });
  });

  it('answers while new sessions are refused', async () => {
    await served.app.sessions.drain(0);
    assert.equal((await served.call(livez)).status, 200);
  });
});
