import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createKey, createOwnKey, createSignInLink, getCredits, listAudit, redeemSignInLink } from '@berth/contract';
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

async function redeem(owner: string): Promise<string> {
  return (await served.call(redeemSignInLink, { body: { token: await linkOf(owner) }, key: null })).body.key ?? assert.fail('no key');
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

  it('POST /dashboard/sign-in-link works for an owner with a hundred keys, and takes none of them from the owner', async () => {
    await served.ownerKey('many');
    const key = await served.login('many');
    for (let keys = 1; keys < 99; keys += 1) await served.call(createKey, { body: { owner: 'many' } });
    for (let links = 0; links < 3; links += 1) await redeem('many');
    await served.call(createOwnKey, { key });
    await served.refuse(createOwnKey, 'key_limit_reached', { key });
    await redeem('many');
  });

  it('POST /dashboard/sign-in-link revokes the oldest of more than twenty keys of links of an owner, and none of another kind or owner', async () => {
    const other = await redeem('local');
    const program = await served.ownerKey('visited');
    const keys: string[] = [];
    for (let count = 0; count < 21; count += 1) {
      keys.push(await redeem('visited'));
      clock.advance(1000);
    }
    const [oldest = '', ...others] = keys;
    await served.refuse(getCredits, 'invalid_api_key', { key: oldest });
    for (const key of [...others, program, other]) assert.equal((await served.call(getCredits, { key })).status, 200);
    const { body: entries } = await served.call(listAudit, { query: { owner: 'visited', action: 'key.revoked' } });
    assert.deepEqual(
      entries.map(({ actor }) => actor),
      ['operator'],
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

describe('422', () => {
  it('POST /dashboard/sign-in-link refuses a body without the secret with 422', async () => {
    const [issue] = await served.issues(redeemSignInLink, { body: {}, key: null });
    assert.deepEqual(issue?.loc, ['body', 'token']);
  });
});
