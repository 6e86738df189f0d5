import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { ServiceError } from '@berth/contract';
import { buildAccounts, type Accounts } from './accounts.ts';
import { ConfigError, readConfig } from '../config.ts';
import { systemClock } from '@berth/lib/clock.ts';
import { silentLog } from '@berth/lib/log.ts';
import { Rates } from '../rates/rates.ts';
import type { Store } from '../store/store.ts';

const dataDir = mkdtempSync(join(tmpdir(), 'berth-accounts-'));
after(() => rmSync(dataDir, { recursive: true }));

/** Never used by these tests. */
const store = undefined as unknown as Store;

function build(environment: Record<string, string>): Accounts {
  const config = readConfig({ BERTH_DATA_DIR: dataDir, ...environment });
  const workerId = 'wrk_1';
  const rates = new Rates({ store, workerId, hasPeers: () => false });
  return buildAccounts({ config, store, clock: systemClock, log: silentLog, workerId, rates, hasPeers: () => false });
}

const elsewhere = [
  { BERTH_HOST: '0.0.0.0' },
  { BERTH_HOST: '10.0.0.1' },
  { BERTH_PUBLIC_URL: 'https://berth.example' },
  { BERTH_TRUSTED_PROXIES: '10.0.0.2' },
];

describe('the development sign-in', () => {
  it('the development sign-in is available on loopback addresses', () => {
    assert.equal(build({}).devIssuer, null);
    for (const host of ['127.0.0.1', '::1', 'localhost'])
      assert.notEqual(build({ BERTH_DEV_IDP: '1', BERTH_HOST: host }).devIssuer, null, host);
  });

  for (const environment of elsewhere)
    it(`the development sign-in is refused with ${Object.entries(environment).flat().join(' ')}`, () => {
      assert.throws(
        () => build({ BERTH_DEV_IDP: '1', ...environment }),
        (error) => error instanceof ConfigError && /loopback/.test(error.message),
      );
    });

  it('the development sign-in is refused beside an identity provider', () => {
    assert.throws(() => build({ BERTH_DEV_IDP: '1', BERTH_OIDC_ISSUER: 'https://id.example', BERTH_OIDC_AUDIENCE: 'berth' }), ConfigError);
  });
});

it('an identity provider is refused without an audience, which would accept tokens for other services', () => {
  assert.throws(() => build({ BERTH_OIDC_ISSUER: 'https://id.example' }), /BERTH_OIDC_AUDIENCE/);
});

describe('events of the payment provider without a signing secret', () => {
  const refusal = (environment: Record<string, string>): Promise<unknown> =>
    build(environment)
      .billing.webhook(Buffer.from('{}'), undefined)
      .catch((error: unknown) => (error instanceof ServiceError ? error.code : (error as Error).name));

  it('unsigned payment events are accepted only on loopback addresses', async () => {
    assert.equal(await refusal({}), 'ValidationError');
    for (const environment of elsewhere) assert.equal(await refusal(environment), 'billing_not_configured', JSON.stringify(environment));
  });

  it('unsigned payment events are accepted elsewhere only where the operator allows it', async () => {
    for (const environment of elsewhere)
      assert.equal(await refusal({ ...environment, BERTH_ALLOW_UNSIGNED_WEBHOOKS: '1' }), 'ValidationError', JSON.stringify(environment));
  });

  it('unsigned payment events cause a warning where billing is set up and they are accepted', () => {
    assert.match(build({ BERTH_STRIPE_SECRET_KEY: 'sk_test_1' }).billing.warnings().join(), /WITHOUT A SIGNATURE/);
    assert.match(build({ BERTH_ALLOW_UNSIGNED_WEBHOOKS: '1' }).billing.warnings().join(), /WITHOUT A SIGNATURE/);
    assert.deepEqual(build({ BERTH_STRIPE_WEBHOOK_SECRET: 'whsec_0123456789' }).billing.warnings(), []);
  });

  it('no warning about unsigned payment events is given at the start where nothing of billing is set', () => {
    assert.deepEqual(build({}).billing.warnings(), []);
    for (const environment of elsewhere) assert.deepEqual(build(environment).billing.warnings(), [], JSON.stringify(environment));
  });
});

it('new owners have no limits while nothing is sold, and the free plan when something is', () => {
  assert.equal(build({}).owners.tiers.default, 'self_hosted');
  assert.equal(build({ BERTH_STRIPE_SECRET_KEY: 'sk_test_1' }).owners.tiers.default, 'free');
});
