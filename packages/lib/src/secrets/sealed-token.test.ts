import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { openToken, sealToken, type TokenClaims } from './sealed-token.ts';

const secret = Buffer.alloc(32, 7);
const now = new Date('2026-01-01T00:00:00Z');
const claims: TokenClaims = { purpose: 'connect', owner: 'local', session: 'ses_1', keyId: 'key_1', expiresAt: now.getTime() / 1000 + 300 };
const bytesOf = (token: string): string[] => token.split('.').map((part) => Buffer.from(part, 'base64url').toString('latin1'));

describe('a sealed token', () => {
  it('a sealed token gives back its claims until it expires', async () => {
    const token = await sealToken(secret, claims);
    assert.deepEqual(await openToken(secret, token, 'connect', now), claims);
    assert.deepEqual(await openToken(secret, token, 'connect', new Date(now.getTime() + 299_999)), claims);
    assert.equal(await openToken(secret, token, 'connect', new Date(now.getTime() + 300_000)), null);
  });

  it('a sealed token has the optional claims that it was given, and no others', async () => {
    const more: TokenClaims = { ...claims, purpose: 'view', scope: 'control', issuedAtMs: now.getTime() + 7, grantId: 'lnk_1' };
    assert.deepEqual(await openToken(secret, await sealToken(secret, more), 'view', now), more);
    assert.deepEqual(await openToken(secret, await sealToken(secret, { ...claims, keyId: null }), 'connect', now), {
      ...claims,
      keyId: null,
    });
  });

  it('a sealed token reveals none of its claims, and differs each time', async () => {
    const token = await sealToken(secret, claims);
    const readable = token + bytesOf(token).join(' ');
    for (const text of ['connect', 'local', 'ses_1', 'key_1', String(claims.expiresAt)]) assert.ok(!readable.includes(text), text);
    assert.notEqual(await sealToken(secret, claims), token);
  });

  it('a sealed token is refused for another purpose and under another secret', async () => {
    const token = await sealToken(secret, claims);
    assert.equal(await openToken(secret, token, 'view', now), null);
    assert.equal(await openToken(Buffer.alloc(32, 8), token, 'connect', now), null);
  });

  it('a sealed token is refused when any byte of it was changed', async () => {
    const token = await sealToken(secret, claims);
    await fc.assert(
      fc.asyncProperty(fc.nat(token.length - 1), fc.constantFrom(...'abcXYZ019-_.'), async (position, letter) => {
        const changed = token.slice(0, position) + letter + token.slice(position + 1);
        // The last letter of a part has bits without a meaning.
        fc.pre(JSON.stringify(bytesOf(changed)) !== JSON.stringify(bytesOf(token)));
        assert.equal(await openToken(secret, changed, 'connect', now), null);
      }),
    );
  });

  it('any text is read as a sealed token without throwing', async () => {
    await fc.assert(fc.asyncProperty(fc.string(), async (text) => assert.equal(await openToken(secret, text, 'connect', now), null)));
  });
});
