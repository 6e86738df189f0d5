import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { getSettings } from '@berth/contract';
import { adminKey, startApp, type TestApp } from '../../harness.ts';

const metricsToken = 'metrics-token-0123456789abcdef012345';

let served: TestApp;
before(async () => {
  served = await startApp({ environment: { BERTH_METRICS_TOKEN: metricsToken, BERTH_TABS_MAX: '7' } });
});
after(() => served.close());

describe('200', () => {
  it('GET /admin/settings lists each setting as the service runs with it, and where it comes from', async () => {
    const { worker_id, settings } = (await served.call(getSettings)).body;
    assert.match(worker_id, /^wrk_/);
    const short = (name: string) => {
      const { value, source, secret } = settings.find((setting) => setting.name === name) ?? assert.fail(name);
      return [value, source, secret];
    };
    assert.deepEqual(short('BERTH_TABS_MAX'), ['7', 'environment', false]);
    assert.deepEqual(short('BERTH_TABS_FULL_BROWSER_MAX'), ['16', 'default', false]);
    assert.deepEqual(short('BERTH_PUBLIC_URL'), [null, 'default', false]);
    assert.deepEqual(short('BERTH_METRICS_TOKEN'), ['set', 'environment', true]);
    assert.deepEqual(short('BERTH_ADMIN_KEY'), ['not set', 'default', true]);
  });

  it('GET /admin/settings holds no secret', async () => {
    const { text } = await served.call(getSettings);
    for (const secret of [metricsToken, adminKey, served.key]) assert.ok(!text.includes(secret));
  });
});
