import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { WebSocket } from 'ws';
import {
  createKey,
  createOwnKey,
  createSignInLink,
  listOwnKeys,
  listSessions,
  redeemSignInLink,
  revokeOwnKey,
  rotateOwnKey,
} from '@berth/contract';
import { ManualClock } from '@berth/lib/clock.ts';
import { comparable, startApp, type TestApp } from '../../harness.ts';

const clock = new ManualClock();
let served: TestApp;
before(async () => {
  served = await startApp({ clock });
});
after(() => served.close());

const works = async (raw: string | null): Promise<boolean> => (await served.call(listSessions, { key: raw ?? '' })).status === 200;
const made = async (owner: string, body: Record<string, unknown> = {}) => {
  const key = await served.login(owner);
  return { key, old: (await served.call(createOwnKey, { key, body })).body };
};
const statuses = async (key: string): Promise<Record<string, string>> =>
  Object.fromEntries((await served.call(listOwnKeys, { key })).body.map(({ key_id, status }) => [key_id, status]));

describe('201', () => {
  it('POST /v1/keys/{key_id}/rotate creates a key with the same name, and refuses the old key from the next request on', async () => {
    const { key, old } = await made('acme', { name: 'ci' });
    assert.ok(await works(old.key));
    const { body } = await served.call(rotateOwnKey, { key, params: { key_id: old.key_id } });
    assert.deepEqual([body.name, body.owner, body.status, body.replaces], ['ci', 'acme', 'active', old.key_id]);
    assert.notEqual(body.key_id, old.key_id);
    assert.deepEqual([await works(old.key), await works(body.key)], [false, true]);
    assert.deepEqual(await statuses(key), { [old.key_id]: 'revoked', [body.key_id]: 'active' });
  });

  it('POST /v1/keys/{key_id}/rotate keeps the old key valid for the grace period', async () => {
    const { key, old } = await made('graceful');
    const { body } = await served.call(rotateOwnKey, { key, params: { key_id: old.key_id }, body: { grace_seconds: 3600 } });
    clock.advance(3_599_999);
    assert.deepEqual([await works(old.key), await works(body.key)], [true, true]);
    clock.advance(1);
    assert.deepEqual([await works(old.key), await works(body.key)], [false, true]);
    assert.deepEqual(await statuses(await served.login('graceful')), { [old.key_id]: 'expired', [body.key_id]: 'active' });
  });

  it('POST /v1/keys/{key_id}/rotate gives the new key the full lifetime of the old one', async () => {
    const { key, old } = await made('mortal', { expires_in_days: 30 });
    clock.advance(3_000_000);
    const { body } = await served.call(rotateOwnKey, { key, params: { key_id: old.key_id } });
    assert.equal(Date.parse(body.expires_at ?? ''), clock.now().getTime() + 30 * 86_400_000);
  });

  it('POST /v1/keys/{key_id}/rotate closes the sockets of the old key', async () => {
    const { key, old } = await made('open');
    const { session_id } = await served.create({}, { key: old.key ?? '' });
    const address = `${served.url.replace(/^http/, 'ws')}/v1/session/${session_id}/cdp`;
    const socket = new WebSocket(address, { headers: { authorization: `Bearer ${old.key}` } });
    await new Promise((resolve, reject) => void socket.once('open', resolve).once('error', reject));
    const closed = new Promise((resolve) => void socket.once('close', resolve));
    await served.call(rotateOwnKey, { key, params: { key_id: old.key_id } });
    await closed;
  });

  it('POST /v1/keys/{key_id}/rotate rotates once for a repeated request, which is answered without the key', async () => {
    const { key, old } = await made('once');
    const request = { key, params: { key_id: old.key_id }, headers: { 'idempotency-key': 'turn' } };
    const first = await served.call(rotateOwnKey, request);
    const second = await served.call(rotateOwnKey, request);
    assert.deepEqual(second.body, { ...first.body, key: null });
    assert.equal((await served.call(listOwnKeys, { key })).body.length, 2);
  });
});

describe('404 key_not_found', () => {
  it('POST /v1/keys/{key_id}/rotate answers 404 key_not_found for foreign, unknown and malformed ids identically', async () => {
    const { old } = await made('victim');
    const key = await served.login('stranger');
    const ids = [old.key_id, 'key_000000000000000000000000', 'nothing', "x' OR 1=1"];
    const replies = await Promise.all(
      ids.map(async (key_id) => (await served.refuse(rotateOwnKey, 'key_not_found', { key, params: { key_id } })).reply),
    );
    assert.equal(new Set(replies.map(comparable)).size, 1);
    assert.ok(await works(old.key));
  });
});

describe('409 key_revoked', () => {
  it('POST /v1/keys/{key_id}/rotate answers 409 key_revoked for a revoked and an expired key', async () => {
    const { key, old } = await made('late');
    await served.call(revokeOwnKey, { key, params: { key_id: old.key_id } });
    await served.refuse(rotateOwnKey, 'key_revoked', { key, params: { key_id: old.key_id } });
    const expiring = (await served.call(createOwnKey, { key, body: { expires_in_days: 1 } })).body;
    clock.advance(86_400_000);
    await served.refuse(rotateOwnKey, 'key_revoked', { key: await served.login('late'), params: { key_id: expiring.key_id } });
  });
});

describe('409 key_limit_reached', () => {
  it('POST /v1/keys/{key_id}/rotate answers 409 key_limit_reached when the old key would be the hundred-and-first', async () => {
    const { key, old } = await made('hoarder');
    await Promise.all(Array.from({ length: 99 }, () => served.call(createKey, { body: { owner: 'hoarder' } })));
    const request = { key, params: { key_id: old.key_id } };
    await served.refuse(rotateOwnKey, 'key_limit_reached', { ...request, body: { grace_seconds: 60 } });
    assert.equal((await served.call(rotateOwnKey, request)).status, 201);
  });

  it('POST /v1/keys/{key_id}/rotate answers 409 key_limit_reached for the key of a sign-in link beside a hundred others', async () => {
    const { key, old } = await made('collector');
    const { url } = (await served.call(createSignInLink, { body: { owner: 'collector' } })).body;
    const { key_id } = (await served.call(redeemSignInLink, { body: { token: url?.split('#link=')[1] } })).body;
    for (let keys = 1; keys < 100; keys += 1) await served.call(createKey, { body: { owner: 'collector' } });
    await served.refuse(rotateOwnKey, 'key_limit_reached', { key, params: { key_id } });
    await served.call(revokeOwnKey, { key, params: { key_id: old.key_id } });
    assert.equal((await served.call(rotateOwnKey, { key, params: { key_id } })).status, 201);
  });
});

describe('422', () => {
  it('POST /v1/keys/{key_id}/rotate refuses an invalid grace period and one above a week with 422', async () => {
    const { key, old } = await made('wrong');
    for (const grace_seconds of [-1, 604_801, 1.5, '60']) {
      const [issue] = await served.issues(rotateOwnKey, { key, params: { key_id: old.key_id }, body: { grace_seconds } });
      assert.deepEqual(issue?.loc, ['body', 'grace_seconds'], String(grace_seconds));
    }
    assert.ok(await works(old.key));
  });
});
