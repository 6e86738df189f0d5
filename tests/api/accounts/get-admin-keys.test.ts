import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createKey, listKeys, listSessions, revokeKey } from '@berth/contract';
import { startApp, type TestApp } from '../../harness.ts';

let served: TestApp;
before(async () => {
  served = await startApp();
});
after(() => served.close());

describe('200', () => {
  it('GET /admin/keys lists the bootstrap key of a new service without its secret', async () => {
    const { body, text } = await served.call(listKeys);
    assert.deepEqual(
      body.map(({ owner, name, prefix, last4, created_by, status, expires_at, revoked_at }) => ({
        owner,
        name,
        prefix,
        last4,
        created_by,
        status,
        expires_at,
        revoked_at,
      })),
      [
        {
          owner: 'local',
          name: 'bootstrap',
          prefix: 'brt_live_',
          last4: served.key.slice(-4),
          created_by: 'bootstrap',
          status: 'active',
          expires_at: null,
          revoked_at: null,
        },
      ],
    );
    assert.ok(!text.includes(served.key.slice(9, -4)));
  });

  it('GET /admin/keys filters by owner', async () => {
    await served.call(createKey, { body: { owner: 'acme' } });
    const { body } = await served.call(listKeys, { query: { owner: 'acme' } });
    assert.deepEqual(
      body.map(({ owner }) => owner),
      ['acme'],
    );
    assert.deepEqual((await served.call(listKeys, { query: { owner: 'nobody' } })).body, []);
  });

  it('GET /admin/keys finds a key by its last characters', async () => {
    const { key_id, key } = (await served.call(createKey, { body: { owner: 'leaky' } })).body;
    const { body } = await served.call(listKeys, { query: { last4: key?.slice(-4) ?? '' } });
    assert.ok(body.some((listed) => listed.key_id === key_id));
    assert.ok(body.every(({ last4 }) => last4 === key?.slice(-4)));
    assert.deepEqual((await served.call(listKeys, { query: { last4: '%%%%' } })).body, []);
  });

  it('GET /admin/keys is paged by limit and cursor, within one owner', async () => {
    const made: string[] = [];
    for (let count = 0; count < 3; count += 1) made.push((await served.call(createKey, { body: { owner: 'paged' } })).body.key_id);
    const seen: string[] = [];
    for (let cursor: string | null = ''; cursor !== null;) {
      const query: Record<string, string> = { owner: 'paged', limit: '1', ...(cursor === '' ? {} : { cursor }) };
      const page = await served.call(listKeys, { query });
      assert.equal(page.body.length, 1);
      seen.push(...page.body.map(({ key_id }) => key_id));
      cursor = page.headers.get('x-next-cursor');
    }
    assert.deepEqual(seen.toSorted(), made.toSorted());
  });

  it('GET /admin/keys lists revoked keys as revoked', async () => {
    const made = await served.call(createKey, { body: { owner: 'gone' } });
    await served.call(revokeKey, { params: { key_id: made.body.key_id } });
    const [key] = (await served.call(listKeys, { query: { owner: 'gone' } })).body;
    assert.equal(key?.status, 'revoked');
    assert.ok(key?.revoked_at);
  });

  it('GET /admin/keys returns when a key was last used', async () => {
    const made = await served.call(createKey, { body: { owner: 'user' } });
    assert.equal(made.body.last_used_at, null);
    await served.call(listSessions, { key: made.body.key ?? '' });
    served.app.keys.usageLoop.nudge();
    await served.app.keys.usageLoop.idle();
    const [key] = (await served.call(listKeys, { query: { owner: 'user' } })).body;
    assert.ok(key?.last_used_at);
  });
});

describe('422', () => {
  it('GET /admin/keys refuses an invalid owner with 422', async () => {
    const [issue] = await served.issues(listKeys, { query: { owner: 'No Such!' } });
    assert.deepEqual([issue?.loc, issue?.type], [['query', 'owner'], 'string_pattern_mismatch']);
  });

  it('GET /admin/keys refuses more characters of a key than its end with 422', async () => {
    for (const last4 of ['abc', served.key]) {
      const [issue] = await served.issues(listKeys, { query: { last4 } });
      assert.deepEqual(issue?.loc, ['query', 'last4']);
    }
  });
});
