import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { signToken, verifyToken, type TokenClaims } from './signed-token.ts';

const secret = Buffer.alloc(32, 7);
const now = new Date('2026-01-01T00:00:00Z');
const claims: TokenClaims = { purpose: 'connect', owner: 'local', session: 'ses_1', keyId: 'key_1', expiresAt: now.getTime() / 1000 + 300 };

describe('a signed token', () => {
  it('gives back its claims until it expires', () => {
    const token = signToken(secret, claims);
    assert.deepEqual(verifyToken(secret, token, 'connect', now), claims);
    assert.equal(verifyToken(secret, token, 'connect', new Date(now.getTime() + 300_000)), null);
  });

  it('carries what more its claims say, and nothing that they do not', () => {
    const more: TokenClaims = { ...claims, purpose: 'view', scope: 'control', issuedAtMs: now.getTime() + 7, grantId: 'lnk_1' };
    assert.deepEqual(verifyToken(secret, signToken(secret, more), 'view', now), more);
    assert.deepEqual(Object.keys(verifyToken(secret, signToken(secret, claims), 'connect', now) ?? {}), Object.keys(claims));
  });

  it('is refused under the signature of another', () => {
    const [view = '', control = ''] = ['view', 'control'].map((scope) => signToken(secret, { ...claims, scope }));
    assert.equal(verifyToken(secret, `${control.split('.')[0]}.${view.split('.')[1]}`, 'connect', now), null);
  });

  it('is refused for another purpose and under another secret', () => {
    const token = signToken(secret, claims);
    assert.equal(verifyToken(secret, token, 'view', now), null);
    assert.equal(verifyToken(Buffer.alloc(32, 8), token, 'connect', now), null);
  });

  it('is refused when any character of it was changed', () => {
    const token = signToken(secret, claims);
    fc.assert(
      fc.property(fc.nat(token.length - 1), fc.constantFrom(...'abcXYZ019-_.'), (place, letter) => {
        const changed = token.slice(0, place) + letter + token.slice(place + 1);
        const sameBytes = Buffer.from(changed.split('.')[1] ?? '', 'base64url').equals(Buffer.from(token.split('.')[1] ?? '', 'base64url'));
        fc.pre(changed !== token && !(changed.split('.')[0] === token.split('.')[0] && sameBytes && changed.split('.').length === 2));
        assert.equal(verifyToken(secret, changed, 'connect', now), null);
      }),
    );
  });

  it('takes any text for a token without throwing', () => {
    fc.assert(fc.property(fc.string(), (text) => assert.equal(verifyToken(secret, text, 'connect', now), null)));
  });
});
