import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createKey, createOwnKey, listAudit, revokeKey, rotateOwnKey } from '@berth/contract';
import { ManualClock } from '@berth/lib/clock.ts';
import { startApp, type TestApp } from '../../harness.ts';

const clock = new ManualClock();
let served: TestApp;
before(async () => {
  served = await startApp({ clock });
});
after(() => served.close());

const reported = async (query: Record<string, string>) =>
  (await served.call(listAudit, { query })).body.map(({ actor, action, subject, details }) => ({ actor, action, subject, ...details }));

describe('200', () => {
  it('GET /admin/audit lists changes of keys and plans with their actor, newest first', async () => {
    const first = (await served.call(createKey, { body: { owner: 'acme', tier: 'scale' } })).body;
    const key = await served.login('acme', 'ada@example.com');
    const second = (await served.call(createOwnKey, { key, body: { name: 'ci' } })).body;
    const third = (await served.call(rotateOwnKey, { key, params: { key_id: second.key_id }, body: { grace_seconds: 60 } })).body;
    await served.call(revokeKey, { params: { key_id: first.key_id } });
    assert.deepEqual(await reported({ owner: 'acme' }), [
      { actor: 'operator', action: 'key.revoked', subject: first.key_id },
      { actor: 'login:ada@example.com', action: 'key.rotated', subject: third.key_id, replaces: second.key_id, grace_seconds: 60 },
      { actor: 'login:ada@example.com', action: 'key.created', subject: second.key_id },
      { actor: 'operator', action: 'key.created', subject: first.key_id },
      { actor: 'operator', action: 'tier.changed', subject: 'acme', from: 'self_hosted', to: 'scale', why: 'assigned' },
    ]);
  });

  it('GET /admin/audit lists the bootstrap key as created by the service, with its time', async () => {
    const { body } = await served.call(listAudit, { query: { actor: 'service', action: 'key.created' } });
    const [{ entry_id, subject, ...entry } = assert.fail()] = body;
    assert.ok(entry_id > 0 && subject?.startsWith('key_'));
    assert.deepEqual(entry, { at: '2026-01-01T00:00:00.000Z', actor: 'service', action: 'key.created', owner: 'local', details: {} });
  });

  it('GET /admin/audit holds no secrets', async () => {
    const login = await served.login('discreet');
    const { key } = (await served.call(createOwnKey, { key: login })).body;
    const { text } = await served.call(listAudit, { query: { limit: '500' } });
    for (const secret of [key, served.key, login]) assert.ok(secret && !text.includes(secret.slice(9, -4)));
  });

  it('GET /admin/audit finds the entries about one object', async () => {
    const { key_id } = (await served.call(createKey, { body: { owner: 'leaky' } })).body;
    await served.call(createKey, { body: { owner: 'leaky' } });
    await served.call(revokeKey, { params: { key_id } });
    assert.deepEqual(
      (await reported({ subject: key_id })).map(({ action }) => action),
      ['key.revoked', 'key.created'],
    );
    assert.deepEqual(await reported({ subject: 'key_none' }), []);
  });

  it('GET /admin/audit filters by owner, actor, action and time', async () => {
    await served.call(createOwnKey, { key: await served.login('narrow', 'eve@example.com') });
    clock.advance(5000);
    await served.call(createKey, { body: { owner: 'narrow' } });
    const now = String(clock.now().getTime() / 1000);
    const actors = async (query: Record<string, string>) => (await reported({ owner: 'narrow', ...query })).map(({ actor }) => actor);
    assert.deepEqual(await actors({}), ['operator', 'login:eve@example.com']);
    assert.deepEqual(await actors({ actor: 'login:eve@example.com' }), ['login:eve@example.com']);
    assert.deepEqual(await actors({ action: 'key.revoked' }), []);
    assert.deepEqual(await actors({ since: now }), ['operator']);
    assert.deepEqual(await reported({ owner: 'nobody' }), []);
  });

  it('GET /admin/audit pages without gaps or repeats while entries are added', async () => {
    const add = () => served.call(createKey, { body: { owner: 'paged' } });
    const ids = (await Promise.all(Array.from({ length: 7 }, add))).map(({ body }) => body.key_id);
    const seen: string[] = [];
    let query: Record<string, string> | null = { owner: 'paged', limit: '3' };
    while (query) {
      const page: Awaited<ReturnType<typeof served.call<typeof listAudit>>> = await served.call(listAudit, { query });
      seen.push(...page.body.map(({ subject }) => subject ?? ''));
      const cursor: string | null = page.headers.get('x-next-cursor');
      assert.equal(page.headers.get('x-has-more'), String(cursor !== null));
      query = cursor === null ? null : { owner: 'paged', limit: '3', cursor };
      await add();
    }
    assert.deepEqual(seen.toSorted(), ids.toSorted());
  });
});

describe('422', () => {
  it('GET /admin/audit refuses invalid filters with 422', async () => {
    for (const [name, value] of [
      ['limit', '0'],
      ['limit', '501'],
      ['owner', 'No Such!'],
      ['actor', ''],
      ['actor', 'a'.repeat(301)],
      ['subject', ''],
      ['action', 'key.lost'],
      ['since', 'yesterday'],
      ['since', '-1'],
      ['cursor', 'nonsense'],
      ['cursor', Buffer.from('["1"]').toString('base64url')],
      ['cursor', Buffer.from('[-1]').toString('base64url')],
      ['cursor', Buffer.from('[1e300]').toString('base64url')],
      ['colour', 'red'],
    ] as const) {
      const [issue] = await served.issues(listAudit, { query: { [name]: value } });
      assert.deepEqual(issue?.loc, ['query', name], `${name}=${value}`);
    }
  });
});
