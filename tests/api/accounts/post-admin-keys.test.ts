import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createKey, createSession, listKeys } from '@berth/contract';
import { startApp, type TestApp } from '../../harness.ts';
import { isWellFormed } from '../../../packages/server/src/accounts/keys/keys.ts';

let served: TestApp;
before(async () => {
  served = await startApp();
});
after(() => served.close());

describe('201', () => {
  it('POST /admin/keys creates a working key and returns it once', async () => {
    const { body } = await served.call(createKey, { body: { owner: 'acme', name: 'ci' } });
    assert.ok(body.key && isWellFormed(body.key));
    assert.deepEqual(
      [body.owner, body.name, body.status, body.created_by, body.last4, body.expires_at],
      ['acme', 'ci', 'active', 'admin', body.key.slice(-4), null],
    );
    assert.equal((await served.create({}, { key: body.key })).status, 'ready');
    const { text } = await served.call(listKeys);
    assert.ok(!text.includes(body.key));
  });

  it('POST /admin/keys creates a key with an expiry', async () => {
    const { body } = await served.call(createKey, { body: { owner: 'acme', expires_in_days: 30 } });
    assert.equal(Date.parse(body.expires_at ?? '') - Date.parse(body.created_at), 30 * 86_400_000);
  });

  it('POST /admin/keys sets the owner’s plan from the next request on', async () => {
    const { body } = await served.call(createKey, { body: { owner: 'mover', tier: 'free' } });
    const key = body.key ?? '';
    await served.issues(createSession, { key, body: { timeout_seconds: 86_400 } });
    await served.call(createKey, { body: { owner: 'mover', tier: 'scale' } });
    assert.equal((await served.create({ timeout_seconds: 86_400 }, { key })).timeout_seconds, 86_400);
  });

  it('POST /admin/keys keeps the owner’s plan when none is given', async () => {
    const { body } = await served.call(createKey, { body: { owner: 'stayer', tier: 'free' } });
    await served.call(createKey, { body: { owner: 'stayer' } });
    await served.issues(createSession, { key: body.key ?? '', body: { timeout_seconds: 901 } });
  });

  it('POST /admin/keys gives all keys of an owner access to the same sessions', async () => {
    const [first, second] = await Promise.all(
      [1, 2].map(async () => (await served.call(createKey, { body: { owner: 'pair' } })).body.key ?? ''),
    );
    await served.create({ name: 'ours' }, { key: first ?? '' });
    await served.refuse(createSession, 'name_taken', { key: second ?? '', body: { name: 'ours' } });
  });
});

describe('422', () => {
  it('POST /admin/keys answers 422 for an unknown plan with the available ones', async () => {
    const [issue] = await served.issues(createKey, { body: { owner: 'acme', tier: 'platinum' } });
    assert.deepEqual([issue?.loc, issue?.type, issue?.input], [['body', 'tier'], 'literal_error', 'platinum']);
    assert.match(String(issue?.ctx['expected']), /'free', .*'self_hosted'/);
  });

  it('POST /admin/keys answers 422 and creates no owner and no key', async () => {
    await served.issues(createKey, { body: { owner: 'phantom', tier: 'platinum' } });
    assert.deepEqual((await served.call(listKeys, { query: { owner: 'phantom' } })).body, []);
  });

  for (const owner of ['', 'with space', '-dash', 'sla/sh', 'a'.repeat(65), '__proto__', '../x'])
    it(`POST /admin/keys refuses the owner ${JSON.stringify(owner.slice(0, 20))} with 422`, async () => {
      const issues = await served.issues(createKey, { body: { owner } });
      assert.deepEqual(issues[0]?.loc, ['body', 'owner']);
    });
});
