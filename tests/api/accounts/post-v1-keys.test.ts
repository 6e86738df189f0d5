import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createOwnKey, listKeys, listOwnKeys, listSessions } from '@berth/contract';
import { isWellFormed } from '../../../packages/server/src/accounts/keys/keys.ts';
import { startApp, type TestApp } from '../../harness.ts';

let served: TestApp;
before(async () => {
  served = await startApp();
});
after(() => served.close());

describe('200', () => {
  it('POST /v1/keys creates a key of the caller’s organisation and returns it once', async () => {
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

  it('POST /v1/keys accepts an empty body', async () => {
    const { body } = await served.call(createOwnKey, { key: await served.login('terse') });
    assert.deepEqual([body.name, body.expires_at], [null, null]);
  });

  it('POST /v1/keys creates a key with an expiry', async () => {
    const { body } = await served.call(createOwnKey, { key: await served.login('brief'), body: { expires_in_days: 7 } });
    assert.equal(Date.parse(body.expires_at ?? '') - Date.parse(body.created_at), 7 * 86_400_000);
  });

  it('POST /v1/keys gives a new organisation the default plan', async () => {
    const { body } = await served.call(createOwnKey, { key: await served.login('founders') });
    assert.equal((await served.create({ timeout_seconds: 86_400 }, { key: body.key ?? '' })).timeout_seconds, 86_400);
  });

  it('POST /v1/keys answers a repeated request without the key', async () => {
    const request = { key: await served.login('once'), headers: { 'idempotency-key': 'one' } };
    const first = await served.call(createOwnKey, request);
    const second = await served.call(createOwnKey, request);
    assert.deepEqual(second.body, { ...first.body, key: null });
    assert.ok(first.body.key && !second.text.includes(first.body.key.slice(9, -4)));
    assert.equal((await served.call(listOwnKeys, { key: request.key })).body.length, 1);
  });

  it('POST /v1/keys scopes the Idempotency-Key to the organisation', async () => {
    const headers = { 'idempotency-key': 'shared' };
    const [mine, theirs] = await Promise.all(
      ['one', 'other'].map(async (owner) => served.call(createOwnKey, { key: await served.login(owner), headers })),
    );
    assert.deepEqual([mine?.body.owner, theirs?.body.owner], ['one', 'other']);
    assert.notEqual(mine?.body.key_id, theirs?.body.key_id);
  });
});

describe('409 key_limit_reached', () => {
  it('POST /v1/keys answers 409 key_limit_reached beyond a hundred valid keys', async () => {
    const key = await served.login('hoarder');
    const create = async (count: number): Promise<number> => {
      const replies = await Promise.all(Array.from({ length: count }, () => served.call(createOwnKey, { key })));
      return replies.filter(({ status }) => status === 200).length;
    };
    for (let made = 0; made < 90; made += 10) assert.equal(await create(10), 10);
    assert.equal(await create(15), 10);
    const { details, reply } = await served.refuse(createOwnKey, 'key_limit_reached', { key });
    assert.deepEqual([details, reply.headers.get('x-should-retry')], [{ limit: 100 }, 'false']);
  });

  it('POST /v1/keys succeeds for another organisation when one has reached its key limit', async () => {
    const { body } = await served.call(createOwnKey, { key: await served.login('modest') });
    assert.equal((await served.call(listSessions, { key: body.key ?? '' })).status, 200);
  });
});

describe('422', () => {
  it('POST /v1/keys refuses an owner and a plan, which the login token determines, with 422', async () => {
    const key = await served.login('climber');
    for (const [field, value] of [
      ['owner', 'somebody-else'],
      ['tier', 'scale'],
    ] as const) {
      const [issue] = await served.issues(createOwnKey, { key, body: { [field]: value } });
      assert.deepEqual([issue?.loc, issue?.type], [['body', field], 'extra_forbidden']);
    }
    assert.deepEqual((await served.call(listOwnKeys, { key })).body, []);
  });

  it('POST /v1/keys refuses a too long name and an invalid lifetime with 422', async () => {
    const key = await served.login('wrong');
    assert.deepEqual(
      (await served.issues(createOwnKey, { key, body: { name: 'n'.repeat(65), expires_in_days: 0 } })).map(({ loc }) => loc),
      [
        ['body', 'name'],
        ['body', 'expires_in_days'],
      ],
    );
  });
});
