import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createOwnKey, listKeys, listOwnKeys, listSessions } from '@berth/contract';
import { isWellFormed } from '../../packages/server/src/keys/keys.ts';
import { startApp, type TestApp } from '../harness.ts';

let served: TestApp;
before(async () => {
  served = await startApp();
});
after(() => served.close());

describe('200', () => {
  it('mints a key of the caller’s organisation, and tells it once', async () => {
    const key = await served.login('acme', 'ada@example.com');
    const { body } = await served.call(createOwnKey, { key, body: { name: 'ci' } });
    assert.ok(body.key && isWellFormed(body.key));
    assert.deepEqual(
      [body.owner, body.name, body.status, body.created_by, body.last4, body.expires_at, body.revoked_at],
      ['acme', 'ci', 'active', 'login:ada@example.com', body.key.slice(-4), null, null],
    );
    assert.equal((await served.create({}, { key: body.key })).status, 'ready');
    assert.ok(!(await served.call(listOwnKeys, { key })).text.includes(body.key));
    assert.ok(!(await served.call(listKeys)).text.includes(body.key));
  });

  it('needs no body', async () => {
    const { body } = await served.call(createOwnKey, { key: await served.login('terse') });
    assert.deepEqual([body.name, body.expires_at], [null, null]);
  });

  it('makes a key that expires when asked to', async () => {
    const { body } = await served.call(createOwnKey, { key: await served.login('brief'), body: { expires_in_days: 7 } });
    assert.equal(Date.parse(body.expires_at ?? '') - Date.parse(body.created_at), 7 * 86_400_000);
  });

  it('puts a new organisation on the default plan', async () => {
    const { body } = await served.call(createOwnKey, { key: await served.login('founders') });
    assert.equal((await served.create({ timeout_seconds: 86_400 }, { key: body.key ?? '' })).timeout_seconds, 86_400);
  });

  it('is answered without the key when it is repeated', async () => {
    const request = { key: await served.login('once'), headers: { 'idempotency-key': 'one' } };
    const first = await served.call(createOwnKey, request);
    const second = await served.call(createOwnKey, request);
    assert.deepEqual(second.body, { ...first.body, key: null });
    assert.ok(first.body.key && !second.text.includes(first.body.key.slice(9, -4)));
    assert.equal((await served.call(listOwnKeys, { key: request.key })).body.length, 1);
  });

  it('is not one answer for two organisations that send the same Idempotency-Key', async () => {
    const headers = { 'idempotency-key': 'shared' };
    const [mine, theirs] = await Promise.all(
      ['one', 'other'].map(async (owner) => served.call(createOwnKey, { key: await served.login(owner), headers })),
    );
    assert.deepEqual([mine?.body.owner, theirs?.body.owner], ['one', 'other']);
    assert.notEqual(mine?.body.key_id, theirs?.body.key_id);
  });
});

describe('409 key_limit_reached', () => {
  it('is the answer beyond a hundred good keys', async () => {
    const key = await served.login('hoarder');
    const made = await Promise.all(Array.from({ length: 105 }, () => served.call(createOwnKey, { key })));
    assert.equal(made.filter(({ status }) => status === 200).length, 100);
    const { details, reply } = await served.refuse(createOwnKey, 'key_limit_reached', { key });
    assert.deepEqual([details, reply.headers.get('x-should-retry')], [{ limit: 100 }, 'false']);
  });

  it('leaves other organisations alone', async () => {
    const { body } = await served.call(createOwnKey, { key: await served.login('modest') });
    assert.equal((await served.call(listSessions, { key: body.key ?? '' })).status, 200);
  });
});

describe('422', () => {
  it('takes neither an owner nor a plan: whose key it is, the login token says', async () => {
    const key = await served.login('climber');
    for (const [field, value] of [
      ['owner', 'somebody-else'],
      ['tier', 'scale'],
    ] as const) {
      const [fault] = await served.faults(createOwnKey, { key, body: { [field]: value } });
      assert.deepEqual([fault?.loc, fault?.type], [['body', field], 'extra_forbidden']);
    }
    assert.deepEqual((await served.call(listOwnKeys, { key })).body, []);
  });

  it('refuses a name that is too long and a life that is none', async () => {
    const key = await served.login('wrong');
    assert.deepEqual(
      (await served.faults(createOwnKey, { key, body: { name: 'n'.repeat(65), expires_in_days: 0 } })).map(({ loc }) => loc),
      [
        ['body', 'name'],
        ['body', 'expires_in_days'],
      ],
    );
  });
});
