import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { openDashboard, openDashboardPage } from '@berth/contract';
import { startApp, type TestApp } from '../../harness.ts';

let served: TestApp;
before(async () => {
  served = await startApp();
});
after(() => served?.close());

describe('200', () => {
  it('GET /dashboard/{path} returns the same page at every address below the dashboard', async () => {
    const start = await served.call(openDashboard, { key: null });
    for (const path of ['sessions', 'sessions/ses_1/network', 'no-such-page', '%3Cscript%3E']) {
      const reply = await fetch(`${served.url}/dashboard/${path}`);
      assert.equal(reply.status, 200, path);
      assert.equal(await reply.text(), start.text);
      assert.equal(reply.headers.get('content-security-policy'), start.headers.get('content-security-policy'));
    }
  });

  it('GET /dashboard/{path} answers 200 with parameters of the sign-in and of other programs', async () => {
    const request = { key: null, params: { path: 'signed-in' }, query: { code: 'x', state: 'y', utm_source: 'mail', q: '\0' } };
    assert.equal((await served.call(openDashboardPage, request)).status, 200);
  });
});
