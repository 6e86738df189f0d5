import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createSignInLink, listAudit, redeemSignInLink } from '@berth/contract';
import { ManualClock } from '@berth/lib/clock.ts';
import { startApp, type TestApp } from '../../harness.ts';

const clock = new ManualClock();
let served: TestApp;
before(async () => {
  served = await startApp({ clock });
});
after(() => served.close());

const tokenOf = (url: string | null): string => url?.split('#link=')[1] ?? assert.fail('no link');

describe('201', () => {
  it('POST /admin/sign-in-links creates a link of ten minutes for the owner local, with its secret in the fragment', async () => {
    const { body } = await served.call(createSignInLink);
    assert.equal(body.owner, 'local');
    assert.match(body.url ?? '', new RegExp(`^${served.url}/dashboard/sign-in#link=brt_link_[0-9A-Za-z]{49}$`));
    assert.equal(body.expires_at, new Date(clock.now().getTime() + 600_000).toISOString());
  });

  it('POST /admin/sign-in-links returns the secret once, and the audit log has who asked for which owner without it', async () => {
    await served.ownerKey('acme');
    const request = { body: { owner: 'acme', ttl_seconds: 60 }, headers: { 'idempotency-key': 'link-once' } };
    const { url } = (await served.call(createSignInLink, request)).body;
    const { body: again } = await served.call(createSignInLink, request);
    assert.deepEqual([again.owner, again.url], ['acme', null]);
    const { body: entries, text } = await served.call(listAudit, { query: { action: 'sign_in_link.created', limit: '1' } });
    assert.deepEqual(
      entries.map(({ actor, owner, details }) => [actor, owner, details]),
      [['operator', 'acme', { ttl_seconds: 60 }]],
    );
    assert.ok(!text.includes(tokenOf(url)));
  });

  it('POST /admin/sign-in-links withdraws the oldest of more than twenty unused links of an owner, and none of another', async () => {
    await served.ownerKey('busy');
    const create = async (owner: string) => tokenOf((await served.call(createSignInLink, { body: { owner } })).body.url);
    const other = await create('local');
    const tokens: string[] = [];
    for (let count = 0; count < 21; count += 1) {
      tokens.push(await create('busy'));
      clock.advance(1000);
    }
    const [oldest, second] = tokens;
    await served.refuse(redeemSignInLink, 'invalid_sign_in_link', { body: { token: oldest } });
    for (const token of [second, other]) assert.equal((await served.call(redeemSignInLink, { body: { token } })).status, 201);
  });

  it('POST /admin/sign-in-links goes on while the links that it withdraws are used', async () => {
    await served.ownerKey('quick');
    const create = async () => tokenOf((await served.call(createSignInLink, { body: { owner: 'quick' } })).body.url);
    for (let round = 0; round < 10; round += 1) {
      const tokens: string[] = [];
      for (let count = 0; count < 20; count += 1) {
        tokens.push(await create());
        clock.advance(1000);
      }
      const made = Array.from({ length: 4 }, create);
      // Whoever comes first has it: a link is used, or withdrawn.
      const used = tokens.slice(0, 4).map((token) => served.call(redeemSignInLink, { body: { token } }).catch((error: unknown) => error));
      for (const result of await Promise.all(used)) if (result instanceof Error) assert.match(String(result), /invalid_sign_in_link/);
      assert.equal(new Set(await Promise.all(made)).size, 4);
    }
  });
});

describe('404 owner_not_found', () => {
  it('POST /admin/sign-in-links answers 404 owner_not_found for an owner that does not exist', async () => {
    await served.refuse(createSignInLink, 'owner_not_found', { body: { owner: 'nobody' } });
  });
});

describe('422', () => {
  it('POST /admin/sign-in-links refuses a link of less than a minute or more than an hour with 422', async () => {
    for (const ttl_seconds of [59, 3601]) {
      const [issue] = await served.issues(createSignInLink, { body: { ttl_seconds } });
      assert.deepEqual(issue?.loc, ['body', 'ttl_seconds']);
    }
  });
});
