import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createKey, createSignInLink, getCredits, listAudit, listKeys, redeemSignInLink, revokeKey } from '@berth/contract';
import { ManualClock } from '@berth/lib/clock.ts';
import { Client, startApp, type TestApp } from '../../harness.ts';

const clock = new ManualClock();
let served: TestApp;
before(async () => {
  served = await startApp({ clock });
});
after(() => served.close());

const dayMs = 86_400_000;

async function linkOf(owner: string, ttlSeconds = 600): Promise<string> {
  const { url } = (await served.call(createSignInLink, { body: { owner, ttl_seconds: ttlSeconds } })).body;
  return url?.split('#link=')[1] ?? assert.fail('no link');
}

describe('201', () => {
  it('POST /dashboard/sign-in-link exchanges a link for a key of its owner that expires after a day, without any credential', async () => {
    await served.ownerKey('acme');
    const { body } = await served.call(redeemSignInLink, { body: { token: await linkOf('acme') }, key: null });
    assert.deepEqual([body.owner, body.created_by, body.name], ['acme', 'sign_in_link', 'Dashboard']);
    assert.equal(body.expires_at, new Date(clock.now().getTime() + dayMs).toISOString());
    assert.equal((await served.call(getCredits, { key: body.key ?? '' })).body.owner, 'acme');
    const { body: entries } = await served.call(listAudit, { query: { subject: body.key_id } });
    assert.deepEqual(
      entries.map(({ actor, action }) => [actor, action]),
      [['operator', 'key.created']],
    );
  });

  it('POST /dashboard/sign-in-link accepts one of ten exchanges of the same link at the same time', async () => {
    const token = await linkOf('local');
    const client = new Client(served.url, served.key);
    const replies = await Promise.all(Array.from({ length: 10 }, () => client.send(redeemSignInLink, { body: { token }, key: null })));
    assert.deepEqual(
      replies.map(({ status }) => status).toSorted((one, other) => one - other),
      [201, ...Array.from({ length: 9 }, () => 403)],
    );
  });
});

describe('403 invalid_sign_in_link', () => {
  it('POST /dashboard/sign-in-link answers used, expired, unknown and malformed links identically with 403 invalid_sign_in_link', async () => {
    const used = await linkOf('local');
    await served.call(redeemSignInLink, { body: { token: used } });
    const expired = await linkOf('local', 60);
    clock.advance(60_000);
    const mistyped = `${used.slice(0, -1)}${used.endsWith('0') ? '1' : '0'}`;
    for (const token of [used, expired, mistyped, served.key, 'x']) {
      const { reply } = await served.refuse(redeemSignInLink, 'invalid_sign_in_link', { body: { token }, key: null });
      assert.ok(!reply.text.includes(token) || token === 'x');
    }
  });
});

describe('409 key_limit_reached', () => {
  it('POST /dashboard/sign-in-link answers 409 key_limit_reached for an owner with a hundred keys, and the link works after one is revoked', async () => {
    await Promise.all(Array.from({ length: 100 }, () => served.call(createKey, { body: { owner: 'many' } })));
    const token = await linkOf('many');
    await served.refuse(redeemSignInLink, 'key_limit_reached', { body: { token }, key: null });
    const [key] = (await served.call(listKeys, { query: { owner: 'many', limit: '1' } })).body;
    await served.call(revokeKey, { params: { key_id: key?.key_id ?? '' } });
    assert.equal((await served.call(redeemSignInLink, { body: { token }, key: null })).status, 201);
  });
});

describe('422', () => {
  it('POST /dashboard/sign-in-link refuses a body without the secret with 422', async () => {
    const [issue] = await served.issues(redeemSignInLink, { body: {}, key: null });
    assert.deepEqual(issue?.loc, ['body', 'token']);
  });
});
