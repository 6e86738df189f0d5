import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { apiVersion, getDashboardConfig, listRegions } from '@berth/contract';
import { startBillingApp } from '../../prepare/billing-app.ts';
import { startApp, type TestApp } from '../../harness.ts';

const secrets = {
  BERTH_STRIPE_SECRET_KEY: 'sk_test_secret-of-the-operator',
  BERTH_STRIPE_WEBHOOK_SECRET: 'whsec_secret-of-the-operator',
  BERTH_METRICS_TOKEN: 'metrics-secret-of-the-operator-0123456789',
  BERTH_CAPTCHA_HTTP_URL: 'http://solver.secret-of-the-operator.test/',
  BERTH_CAPTCHA_HTTP_SECRET: 'captcha-secret-of-the-operator-0123456789',
  BERTH_LLM_URL: 'http://model.secret-of-the-operator.test/v1',
  BERTH_LLM_MODEL: 'secret-of-the-operator',
  BERTH_LLM_API_KEY: 'llm-secret-of-the-operator',
};

let plain: TestApp;
let furnished: TestApp;
before(async () => {
  [plain, furnished] = await Promise.all([startApp(), startApp({ environment: { ...secrets, BERTH_CREDITS_ENFORCED: '1' } })]);
});
after(() => Promise.all([plain?.close(), furnished?.close()]));

describe('200', () => {
  it('GET /dashboard/config.json lists the plans that have a price, once each, where plans are sold', async (t) => {
    assert.deepEqual((await plain.call(getDashboardConfig, { key: null })).body.plans, []);
    const { served, close } = await startBillingApp();
    t.after(close);
    const { plans } = (await served.call(getDashboardConfig, { key: null })).body;
    assert.deepEqual(plans.map(({ tier }) => tier).toSorted(), ['developer', 'scale']);
    assert.equal(plans.find(({ tier }) => tier === 'scale')?.concurrency_limit, 3);
  });

  it('GET /dashboard/config.json describes the service without a credential', async () => {
    const { body } = await plain.call(getDashboardConfig, { key: null });
    assert.equal(body.version, apiVersion);
    assert.deepEqual(body.regions, (await plain.call(listRegions)).body.regions);
    assert.deepEqual(body.sign_in, { login: true, issuer: null, development: true });
    assert.deepEqual(body.features, {
      billing: false,
      credits_enforced: false,
      captcha_providers: [],
      recording_video: 'frames',
      evaluate: false,
      language_model: false,
    });
    for (const path of Object.values(body.links)) {
      const reply = await fetch(plain.url + path);
      assert.equal(reply.status, 200, path);
      await reply.arrayBuffer();
    }
  });

  it('GET /dashboard/config.json says what the operator has configured, and none of its secrets', async () => {
    const { body, text } = await furnished.call(getDashboardConfig, { key: null });
    assert.deepEqual(body.features, {
      billing: true,
      credits_enforced: true,
      captcha_providers: ['http'],
      recording_video: 'frames',
      evaluate: false,
      language_model: true,
    });
    assert.doesNotMatch(text, /secret-of-the-operator|brt_|test-admin-key/);
    assert.ok(!text.includes(furnished.dataDir));
  });
});
