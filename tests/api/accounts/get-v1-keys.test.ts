import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createKey, createOwnKey, listOwnKeys, listSessions, revokeOwnKey } from '@berth/contract';
import { ManualClock } from '@berth/lib/clock.ts';
import { startApp, type TestApp } from '../../harness.ts';

const clock = new ManualClock();
let served: TestApp;
before(async () => {
  served = await startApp({ clock });
});
after(() => served.close());

describe('200', () => {
  it('GET /v1/keys lists the organisation’s keys without secrets, newest first', async () => {
    const key = await served.login('acme');
    const first = (await served.call(createOwnKey, { key, body: { name: 'first' } })).body;
    clock.advance(1);
    const second = (await served.call(createOwnKey, { key, body: { name: 'second' } })).body;
    const { body, text } = await served.call(listOwnKeys, { key: await served.login('acme', 'ben@example.com') });
    assert.deepEqual(
      body.map((listed, at) => ({ ...listed, key: [second, first][at]?.key })),
      [second, first],
    );
    for (const secret of [first.key, second.key]) assert.ok(secret && !text.includes(secret.slice(9, -4)));
  });

  it('GET /v1/keys includes keys created by the operator, and none of another organisation', async () => {
    await served.call(createKey, { body: { owner: 'shared', name: 'given' } });
    await served.call(createKey, { body: { owner: 'sharing', name: 'foreign' } });
    const { body } = await served.call(listOwnKeys, { key: await served.login('shared') });
    assert.deepEqual(
      body.map(({ owner, name, created_by }) => [owner, name, created_by]),
      [['shared', 'given', 'admin']],
    );
  });

  it('GET /v1/keys is paged by limit and cursor', async () => {
    const key = await served.login('pages');
    for (const name of ['one', 'two', 'three']) {
      await served.call(createOwnKey, { key, body: { name } });
      clock.advance(1);
    }
    const first = await served.call(listOwnKeys, { key, query: { limit: '2' } });
    const cursor = first.headers.get('x-next-cursor') ?? '';
    const second = await served.call(listOwnKeys, { key, query: { limit: '2', cursor } });
    const names = [first, second].map(({ body }) => body.map(({ name }) => name));
    assert.deepEqual(names, [['three', 'two'], ['one']]);
    assert.deepEqual(
      [first, second].map(({ headers }) => headers.get('x-has-more')),
      ['true', 'false'],
    );
    assert.match(first.headers.get('link') ?? '', /\/v1\/keys\?limit=2&cursor=.*rel="next"/);
  });

  it('GET /v1/keys is empty for an organisation without keys', async () => {
    assert.deepEqual((await served.call(listOwnKeys, { key: await served.login('newcomers') })).body, []);
  });

  it('GET /v1/keys includes revoked keys and the time of last use', async () => {
    const key = await served.login('history');
    const made = (await served.call(createOwnKey, { key })).body;
    await served.call(listSessions, { key: made.key ?? '' });
    await served.call(revokeOwnKey, { key, params: { key_id: made.key_id } });
    served.app.keys.usageLoop.nudge();
    await served.app.keys.usageLoop.idle();
    const [listed] = (await served.call(listOwnKeys, { key })).body;
    assert.equal(listed?.status, 'revoked');
    assert.ok(listed.revoked_at && listed.last_used_at);
  });
});

describe('422', () => {
  it('GET /v1/keys refuses a limit out of bounds and a cursor of another list with 422', async () => {
    const key = await served.login('wrong');
    const position = Buffer.from('[1,"ses_000000000000000000000000"]').toString('base64url');
    for (const query of [{ limit: '0' }, { limit: '501' }, { cursor: 'nonsense' }, { cursor: position }])
      assert.deepEqual(
        (await served.issues(listOwnKeys, { key, query })).map(({ loc }) => loc[1]),
        Object.keys(query),
      );
  });
});
