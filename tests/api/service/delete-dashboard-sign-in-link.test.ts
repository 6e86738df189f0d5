import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createConnectToken, createSignInLink, endLinkSignIn, getCredits, listAudit, redeemSignInLink } from '@berth/contract';
import { startApp, type TestApp } from '../../harness.ts';

let served: TestApp;
before(async () => {
  served = await startApp();
});
after(() => served.close());

async function keyOfLink(): Promise<{ key: string; keyId: string }> {
  const { url } = (await served.call(createSignInLink)).body;
  const { body } = await served.call(redeemSignInLink, { body: { token: url?.split('#link=')[1] }, key: null });
  return { key: body.key ?? assert.fail('no key'), keyId: body.key_id };
}

describe('204', () => {
  it('DELETE /dashboard/sign-in-link revokes the key that it is called with and no other of its owner, and the audit log says so', async () => {
    const { key, keyId } = await keyOfLink();
    const other = await keyOfLink();
    await served.call(endLinkSignIn, { key });
    await served.refuse(getCredits, 'invalid_api_key', { key });
    for (const each of [other.key, served.key]) assert.equal((await served.call(getCredits, { key: each })).status, 200);
    const { body: entries } = await served.call(listAudit, { query: { subject: keyId, action: 'key.revoked' } });
    assert.deepEqual(
      entries.map(({ actor, owner }) => [actor, owner]),
      [[`key:${keyId}`, 'local']],
    );
  });
});

describe('404 key_not_found', () => {
  it('DELETE /dashboard/sign-in-link answers 404 key_not_found to the key of a program, which stays valid', async () => {
    await served.refuse(endLinkSignIn, 'key_not_found');
    assert.equal((await served.call(getCredits)).status, 200);
  });

  it('DELETE /dashboard/sign-in-link accepts no connect token of the key of a link', async () => {
    const { key } = await keyOfLink();
    const { token } = (await served.call(createConnectToken, { key })).body;
    await served.refuse(endLinkSignIn, 'invalid_api_key', { key: token });
    assert.equal((await served.call(getCredits, { key })).status, 200);
  });
});
