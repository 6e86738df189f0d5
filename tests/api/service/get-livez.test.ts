import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { livez } from '@berth/contract';
import { startApp, type TestApp } from '../../harness.ts';

let served: TestApp;
before(async () => {
  served = await startApp();
});
after(() => served.close());

describe('200', () => {
  it('GET /livez answers while the process responds', async () => {
    assert.deepEqual((await served.call(livez, { key: null })).body, { status: 'ok' });
  });

  it('GET /livez answers whatever parameters a probe sends, as does the health', async () => {
    for (const path of ['/livez', '/health'])
      for (const query of ['x=1', 'x=1&x=2', 'constructor=1', 'x=%00', 'limit=abc', '%zz'])
        assert.equal((await fetch(`${served.url}${path}?${query}`)).status, 200, `${path}?${query}`);
  });

  it('GET /livez answers while new sessions are refused', async () => {
    await served.app.sessions.drain(0);
    assert.equal((await served.call(livez)).status, 200);
  });
});
