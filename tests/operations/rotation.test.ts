/** Every secret of the service is replaced: the new ones work, the old ones no more, and nothing else is lost. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, it } from 'node:test';
import { createConnectToken, createKey, revokeKey, getCredits, grantCredits, listKeys } from '@berth/contract';
import { Client } from '../harness.ts';
import { Service, stopAll } from '../e2e/service.ts';
import { Providers } from './rotation-providers.ts';

const folder = mkdtempSync(join(tmpdir(), 'berth-rotation-'));
const dataDir = join(folder, 'data');
mkdirSync(dataDir, { mode: 0o711 });
after(async () => {
  await stopAll();
  rmSync(folder, { recursive: true, force: true });
});
const fileOf = (name: string): string => readFileSync(join(dataDir, name), 'utf8').trim();
const tokens = ['first', 'second'].map((word) => `${word}-metrics-token-0123456789abcdef`);
const scrape = async (service: Service, token: string): Promise<number> =>
  (await fetch(`${service.url}/metrics`, { headers: { authorization: `Bearer ${token}` } })).status;

it('the admin key, the API key of the first start, the metrics token and the link key can be replaced', async () => {
  const first = await Service.start({ dataDir, environment: { BERTH_METRICS_TOKEN: tokens[0] ?? '' } });
  const old = { admin: fileOf('admin-key'), api: fileOf('api-key'), link: fileOf('token-key') };
  await first.client.call(grantCredits, { body: { owner: 'local', amount: 7 } });
  const customer = (await first.client.call(createKey, { body: { owner: 'customer' } })).body.key ?? '';
  const { body: connect } = await first.client.call(createConnectToken, { key: customer, body: {} });
  assert.deepEqual([await scrape(first, tokens[0] ?? ''), await scrape(first, tokens[1] ?? '')], [200, 403]);
  assert.equal(await first.stop(), 0);

  for (const name of ['admin-key', 'api-key', 'token-key']) rmSync(join(dataDir, name));
  const second = await Service.start({ dataDir, environment: { BERTH_METRICS_TOKEN: tokens[1] ?? '' } });
  const { client } = second;
  assert.ok(second.output.includes(fileOf('admin-key')) && second.output.includes(fileOf('api-key')), 'the new keys are printed');
  assert.notEqual(fileOf('admin-key'), old.admin);
  assert.notEqual(fileOf('token-key'), old.link);
  await new Client(second.url, old.api, old.admin).refuse(listKeys, 'invalid_admin_key');
  assert.deepEqual([await scrape(second, tokens[0] ?? ''), await scrape(second, tokens[1] ?? '')], [403, 200]);
  assert.equal((await client.call(getCredits)).body.balance, 7);
  assert.equal((await client.call(getCredits, { key: customer })).status, 200);
  // A connect token is in the database, so it does not depend on the link key.
  assert.equal((await fetch(`${second.url}/json/version?token=${connect.token}`)).status, 200);

  // The old API key of the first start works until it is revoked.
  assert.equal((await client.call(getCredits, { key: old.api })).status, 200);
  const { body: keys } = await client.call(listKeys, { query: { owner: 'local' } });
  const replaced = keys.find(({ last4 }) => last4 === old.api.slice(-4));
  assert.equal((await client.call(revokeKey, { params: { key_id: replaced?.key_id ?? '' } })).status, 204);
  await client.refuse(getCredits, 'invalid_api_key', { key: old.api });
  assert.equal((await client.call(getCredits)).status, 200);
  assert.equal(await second.stop(), 0);
});

it('the keys of the payment provider and the secret of the captcha solver can be replaced', async (t) => {
  const providers = await Providers.start();
  t.after(() => providers.close());
  const before = await Service.start({ dataDir, environment: providers.environment('old') });
  assert.equal(await providers.checkout(before), 200);
  assert.equal(await providers.webhook(before, { owner: 'early', tier: 'scale', by: ['old'] }), 200);
  assert.equal(await providers.captcha(before), 'solved');
  // The provider rolls its secret, and signs with both until the old one has expired; the solver accepts both.
  assert.equal(await providers.webhook(before, { owner: 'rolled', tier: 'scale', by: ['old', 'new'] }), 200);
  providers.solverAccepts = ['new'];
  assert.equal(await providers.captcha(before), 'failed_to_solve');
  assert.equal(await before.stop(), 0);

  const after = await Service.start({ dataDir, environment: providers.environment('new') });
  assert.equal(await providers.checkout(after), 200);
  assert.equal(await providers.webhook(after, { owner: 'both', tier: 'scale', by: ['old', 'new'] }), 200);
  assert.equal(await providers.webhook(after, { owner: 'late', tier: 'scale', by: ['new'] }), 200);
  assert.equal(await providers.webhook(after, { owner: 'forged', tier: 'scale', by: ['old'] }), 400);
  assert.deepEqual(
    await Promise.all(['early', 'rolled', 'both', 'late'].map((owner) => providers.tierOf(after, owner))),
    Array(4).fill('scale'),
  );
  assert.equal(await providers.captcha(after), 'solved');
});
