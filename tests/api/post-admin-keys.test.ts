import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createKey, createSession, listKeys } from '@berth/contract';
import { startApp, type TestApp } from '../harness.ts';
import { isWellFormed } from '../../packages/server/src/keys/keys.ts';

let served: TestApp;
before(async () => {
  served = await startApp();
});
after(() => served.close());

describe('201', () => {
  it('mints a key that works, and tells it once', async () => {
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

  it('makes a key that expires when asked to', async () => {
    const { body } = await served.call(createKey, { body: { owner: 'acme', expires_in_days: 30 } });
    assert.equal(Date.parse(body.expires_at ?? '') - Date.parse(body.created_at), 30 * 86_400_000);
  });

  it('puts the owner on the plan that is named, from the next request on', async () => {
    const { body } = await served.call(createKey, { body: { owner: 'mover', tier: 'free' } });
    const key = body.key ?? '';
    await served.faults(createSession, { key, body: { timeout_seconds: 86_400 } });
    await served.call(createKey, { body: { owner: 'mover', tier: 'scale' } });
    assert.equal((await served.create({ timeout_seconds: 86_400 }, { key })).timeout_seconds, 86_400);
  });

  it('leaves the owner’s plan alone when none is named', async () => {
    const { body } = await served.call(createKey, { body: { owner: 'stayer', tier: 'free' } });
    await served.call(createKey, { body: { owner: 'stayer' } });
    await served.faults(createSession, { key: body.key ?? '', body: { timeout_seconds: 901 } });
  });

  it('gives two keys of one owner the same sessions', async () => {
    const [first, second] = await Promise.all(
      [1, 2].map(async () => (await served.call(createKey, { body: { owner: 'pair' } })).body.key ?? ''),
    );
    await served.create({ name: 'ours' }, { key: first ?? '' });
    await served.refuse(createSession, 'name_taken', { key: second ?? '', body: { name: 'ours' } });
  });
});

describe('422', () => {
  it('names the plans that there are', async () => {
    const [fault] = await served.faults(createKey, { body: { owner: 'acme', tier: 'platinum' } });
    assert.deepEqual([fault?.loc, fault?.type, fault?.input], [['body', 'tier'], 'literal_error', 'platinum']);
    assert.match(String(fault?.ctx['expected']), /'free', .*'self_hosted'/);
  });

  it('makes no owner and no key', async () => {
    await served.faults(createKey, { body: { owner: 'phantom', tier: 'platinum' } });
    assert.deepEqual((await served.call(listKeys, { query: { owner: 'phantom' } })).body, []);
  });

  for (const owner of ['', 'with space', '-dash', 'sla/sh', 'a'.repeat(65), '__proto__', '../x'])
    it(`refuses the owner ${JSON.stringify(owner.slice(0, 20))}`, async () => {
      const faults = await served.faults(createKey, { body: { owner } });
      assert.deepEqual(faults[0]?.loc, ['body', 'owner']);
    });
});
