import assert from 'node:assert/strict';
import { createHmac, createPublicKey } from 'node:crypto';
import { before, describe, it, type TestContext } from 'node:test';
import { CompactEncrypt, SignJWT, exportSPKI, importJWK, type CryptoKey, type JWTPayload } from 'jose';
import { silentLog } from '@berth/lib/log.ts';
import {
  Provider,
  audience,
  compose,
  configFor,
  goodClaims,
  newKey,
  noCredentials,
  openLogins,
  refusalOf,
  secondsOf,
  sign,
  type TestLogins,
  type SigningKey,
} from '../../../testing/accounts/login.ts';
import { Logins, isLoopbackHost, loginAlgorithms } from './login.ts';

let key: SigningKey;
let stranger: SigningKey;
before(async () => {
  [key, stranger] = await Promise.all([newKey('k1'), newKey('k1')]);
});

interface Setting extends TestLogins {
  provider: Provider;
  claims: JWTPayload;
}

async function set(t: TestContext): Promise<Setting> {
  const provider = await Provider.start(t, key);
  const opened = openLogins(configFor(provider));
  return { ...opened, provider, claims: goodClaims(provider.issuer, opened.clock) };
}

describe('a login token', () => {
  it('a login token acts for the organisation that its claim names, at the rate of its plan', async (t) => {
    const { authenticate, claims } = await set(t);
    assert.deepEqual(await authenticate(await sign(claims, key)), {
      owner: 'acme',
      keyId: null,
      subject: 'user-1',
      requestsPerMinute: 30,
      scope: 'login:acme',
    });
  });

  it('a login token may be signed with each of the pinned algorithms', async (t) => {
    const keys = await Promise.all(loginAlgorithms.map((alg) => newKey(alg, alg)));
    const { authenticate, provider, claims } = await set(t);
    provider.publish(...keys);
    for (const each of keys) assert.equal((await authenticate(await sign(claims, each))).owner, 'acme', each.alg);
  });

  it('a login token has a type of login tokens, or none', async (t) => {
    const { authenticate, claims } = await set(t);
    for (const typ of ['JWT', 'jwt', 'at+jwt', 'AT+JWT', 'application/at+jwt', undefined])
      assert.equal((await authenticate(await sign(claims, key, { typ }))).owner, 'acme', String(typ));
    for (const typ of ['logout+jwt', 'id_token', 'dpop+jwt', 'secevent+jwt', '', 5])
      assert.equal((await refusalOf(authenticate(await sign(claims, key, { typ })))).code, 'invalid_login_token', String(typ));
  });

  it('a login token may name several audiences, and the organisation in a claim of another name', async (t) => {
    const { provider, claims, clock } = await set(t);
    const { authenticate } = openLogins(configFor(provider, { orgClaim: 'https://example.com/org' }), { clock });
    const { org_id: _, ...others } = claims;
    const token = await sign({ ...others, aud: ['other', audience], 'https://example.com/org': 'Org|42:eu@x' }, key);
    assert.equal((await authenticate(token)).owner, 'Org|42:eu@x');
  });

  it('a login token is accepted half a minute before and after its times, because clocks differ', async (t) => {
    const { authenticate, claims, clock } = await set(t);
    const now = secondsOf(clock);
    assert.equal((await authenticate(await sign({ ...claims, exp: now - 29 }, key))).owner, 'acme');
    assert.equal((await authenticate(await sign({ ...claims, nbf: now + 29 }, key))).owner, 'acme');
    assert.match((await refusalOf(authenticate(await sign({ ...claims, exp: now - 31 }, key)))).publicMessage, /has expired/);
    assert.match((await refusalOf(authenticate(await sign({ ...claims, nbf: now + 31 }, key)))).publicMessage, /not valid yet/);
  });

  it("a login token's subject is kept as far as it can be shown, up to 255 characters", async (t) => {
    const { authenticate, claims } = await set(t);
    assert.equal((await authenticate(await sign({ ...claims, sub: ' a\u0000\n\u202eb\u2028c ' }, key))).subject, 'abc');
    assert.equal((await authenticate(await sign({ ...claims, sub: '🙂'.repeat(400) }, key))).subject, '🙂'.repeat(255));
  });

  it('a missing login token is asked for as a bearer token', async (t) => {
    const { logins } = await set(t);
    for (const authorization of [undefined, '', 'Basic YTpi', 'Bearer ', 'Bearer a b'])
      assert.equal(
        (await refusalOf(Promise.resolve(logins.authenticate({ ...noCredentials, authorization })))).code,
        'missing_login_token',
        authorization,
      );
  });

  it('a login token is refused by a service without an identity provider, which says what the operator has to do', async () => {
    const refusal = await refusalOf(openLogins(null).authenticate('x.y.z'));
    assert.equal(refusal.code, 'invalid_login_token');
    assert.match(refusal.publicMessage, /BERTH_OIDC_ISSUER.*BERTH_DEV_IDP=1/);
  });
});

describe('an attacker’s token', () => {
  /** What is refused, by the claim that makes it bad; undefined takes the claim out. */
  const badClaims: Record<string, (now: number, issuer: string) => JWTPayload | Record<string, unknown>> = {
    'of another issuer': () => ({ iss: 'https://evil.example' }),
    'of an issuer that begins like ours': (_, issuer) => ({ iss: `${issuer}.evil.example` }),
    'of an issuer with a slash more': (_, issuer) => ({ iss: `${issuer}/` }),
    'of a list of issuers': (_, issuer) => ({ iss: [issuer] }),
    'of no issuer': () => ({ iss: undefined }),
    'for another audience': () => ({ aud: 'other' }),
    'for an audience that begins like ours': () => ({ aud: 'berth2' }),
    'for a list of other audiences': () => ({ aud: ['a', 'b'] }),
    'for no audience': () => ({ aud: undefined }),
    'that has expired': (now) => ({ exp: now - 3600 }),
    'that never expires': () => ({ exp: undefined }),
    'that expires at a word': () => ({ exp: 'tomorrow' }),
    'that is not valid yet': (now) => ({ nbf: now + 3600 }),
    'that is valid from a word on': () => ({ nbf: 'now' }),
    'of nobody': () => ({ sub: undefined }),
    'of an empty subject': () => ({ sub: '' }),
    'of a subject that cannot be seen': () => ({ sub: '\u200b\u0000' }),
    'of a subject that is no text': () => ({ sub: 5 }),
    'without an organisation': () => ({ org_id: undefined }),
    'with an organisation that is a number': () => ({ org_id: 7 }),
    'with a list of organisations': () => ({ org_id: ['acme'] }),
    'with an organisation that is an object': () => ({ org_id: { acme: {} } }),
    'with an empty organisation': () => ({ org_id: '' }),
    'with a blank in its organisation': () => ({ org_id: 'ac me' }),
    'with a line break after its organisation': () => ({ org_id: 'acme\n' }),
    'with an organisation that is a path': () => ({ org_id: '../acme' }),
    'with a longer organisation than we keep': () => ({ org_id: 'a'.repeat(65) }),
    'that informs a client who signed in, by its use': () => ({ token_use: 'id' }),
    'that informs a client who signed in, by its type': () => ({ typ: 'ID' }),
    'that renews others': () => ({ typ: 'Refresh' }),
    'that answers a nonce': () => ({ nonce: 'n' }),
    'that vouches for an access token': () => ({ at_hash: 'h' }),
    'that vouches for a code': () => ({ c_hash: 'h' }),
    'that informs a client of a sign-out': () => ({ events: {} }),
  };
  for (const [what, changes] of Object.entries(badClaims))
    it(`an attacker’s login token is refused: one ${what}`, async (t) => {
      const { authenticate, claims, clock, provider } = await set(t);
      const token = await sign({ ...claims, ...changes(secondsOf(clock), provider.issuer) }, key);
      await refused(authenticate, token);
    });

  /** What is refused for how it is made. */
  const forgeries: Record<string, (setting: Setting) => Promise<string> | string> = {
    'without a signature': ({ claims }) => compose({ alg: 'none' }, claims, ''),
    'with the algorithm none': ({ claims }) => compose({ alg: 'none', typ: 'JWT' }, claims),
    'with none in other letters': ({ claims }) => compose({ alg: 'nOnE', kid: 'k1' }, claims),
    'without an algorithm': ({ claims }) => compose({ kid: 'k1' }, claims),
    'signed by HMAC with the public key as text': async ({ claims }) => hmac(claims, await publicPem()),
    'signed by HMAC with the public key without a last line break': async ({ claims }) => hmac(claims, (await publicPem()).trim()),
    'signed by HMAC with the public key as bytes': ({ claims }) =>
      hmac(claims, createPublicKey({ key: key.publicJwk, format: 'jwk' }).export({ type: 'spki', format: 'der' })),
    'signed by HMAC with the modulus': ({ claims }) => hmac(claims, Buffer.from(key.publicJwk.n ?? '', 'base64url')),
    'signed by HMAC with nothing': ({ claims }) => hmac(claims, ''),
    'that brings its own key': ({ claims }) => sign(claims, stranger, { jwk: stranger.publicJwk }),
    'that brings its own key under another id': ({ claims }) =>
      sign(claims, stranger, { kid: 'mine', jwk: { ...stranger.publicJwk, kid: 'mine' } }),
    'that brings its own certificate': ({ claims }) => sign(claims, stranger, { x5c: ['MIIB'], x5u: 'http://127.0.0.1:1/cert' }),
    'signed by a stranger under our key’s id': ({ claims }) => sign(claims, stranger),
    'signed by a stranger without an id': ({ claims }) => sign(claims, stranger, { kid: undefined }),
    'with a key id that is a path': ({ claims }) => sign(claims, stranger, { kid: '../../../../dev/null' }),
    'with a key id that is a query': ({ claims }) => sign(claims, stranger, { kid: "' UNION SELECT 'secret' --" }),
    'with a key id that is an address': ({ claims }) => sign(claims, stranger, { kid: 'http://169.254.169.254/latest' }),
    'with a key id of the object’s own': ({ claims }) => sign(claims, stranger, { kid: '__proto__' }),
    'with a key id that is a number': ({ claims }) => compose({ alg: 'RS256', kid: 1 }, claims),
    'with a key id that is an object': ({ claims }) => compose({ alg: 'RS256', kid: { toString: 'k1' } }, claims),
    'with an algorithm that is a list': ({ claims }) => compose({ alg: ['RS256'], kid: 'k1' }, claims),
    'of an algorithm that is too weak': ({ claims }) => compose({ alg: 'RS1', kid: 'k1' }, claims),
    'of an algorithm that the key is not for': ({ claims }) => compose({ alg: 'ES256', kid: 'k1' }, claims),
    'with an extension that must be understood': ({ claims }) =>
      new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid: 'k1', crit: ['x'], x: 1 }).sign(key.privateKey, { crit: { x: true } }),
    'whose claims were changed': async ({ claims }) => {
      const [header, , signature] = (await sign(claims, key)).split('.');
      return `${header}.${Buffer.from(JSON.stringify({ ...claims, org_id: 'victim' })).toString('base64url')}.${signature}`;
    },
    'whose header was changed': async ({ claims }) => {
      const [, payload, signature] = (await sign(claims, key)).split('.');
      return `${Buffer.from(JSON.stringify({ alg: 'PS256', kid: 'k1' })).toString('base64url')}.${payload}.${signature}`;
    },
    'whose signature was cut': async ({ claims }) => (await sign(claims, key)).slice(0, -8),
    'whose claims are no object': () => signText('"acme"'),
    'whose claims are a list': () => signText('[{}]'),
    'whose claims are no JSON': () => signText('{'),
    'that is encrypted': async ({ claims }) => {
      const publicKey = (await importJWK({ ...key.publicJwk, alg: 'RSA-OAEP', use: 'enc' }, 'RSA-OAEP')) as CryptoKey;
      return new CompactEncrypt(Buffer.from(JSON.stringify(claims)))
        .setProtectedHeader({ alg: 'RSA-OAEP', enc: 'A256GCM' })
        .encrypt(publicKey);
    },
    'that is an API key': () => 'brt_live_0123456789abcdefghijklmnopqrstuvwxyzABCDEFG012345',
    'that is a word': () => 'token',
    'of dots': () => '..',
    'with a line break in it': async ({ claims }) => `${await sign(claims, key)}%0a`,
    'that is longer than 8 KiB': ({ claims }) => sign({ ...claims, more: 'x'.repeat(8192) }, key),
  };
  for (const [what, forge] of Object.entries(forgeries))
    it(`a forged login token is refused: one ${what}`, async (t) => {
      const setting = await set(t);
      await refused(setting.authenticate, await forge(setting));
      assert.ok(setting.provider.keyRequests <= 1, 'it made us ask for keys more than once');
    });

  it('an attacker’s login token that is signed with a published secret is refused', async (t) => {
    const { authenticate, provider, claims } = await set(t);
    const secret = Buffer.alloc(32, 7);
    provider.keys = [{ kty: 'oct', k: secret.toString('base64url'), kid: 'k1', alg: 'HS256' }, key.publicJwk];
    const forged = await new SignJWT(claims).setProtectedHeader({ alg: 'HS256', kid: 'k1' }).sign(secret);
    await refused(authenticate, forged);
    assert.equal((await authenticate(await sign(claims, key))).owner, 'acme');
  });

  it('algorithms that let an attacker’s login token in are refused in the configuration', async (t) => {
    const provider = await Provider.start(t, key);
    const { clock } = openLogins(null);
    for (const algorithms of [['none'], ['HS256'], ['RS256', 'HS512'], []])
      assert.throws(
        () =>
          new Logins({
            config: configFor(provider, { algorithms }),
            owners: { tierOf: () => Promise.reject(new Error('never')) },
            clock,
            log: silentLog,
          }),
        TypeError,
      );
  });

  it('a login token without an organisation is refused with how the organisation is found', async (t) => {
    const { authenticate, claims } = await set(t);
    const { publicMessage } = await refusalOf(authenticate(await sign({ ...claims, org_id: undefined }, key)));
    assert.match(publicMessage, /`org_id` is missing.*BERTH_OIDC_ORG_CLAIM.*`sub` works/);
  });

  it('a refused login token is not repeated to the caller', async (t) => {
    const { authenticate, claims } = await set(t);
    const token = await sign({ ...claims, org_id: 'secret org' }, key);
    const { publicMessage, message, details } = await refusalOf(authenticate(token));
    const reported = JSON.stringify({ publicMessage, message, details });
    assert.ok(!reported.includes('secret org') && !token.split('.').some((part) => reported.includes(part)), reported);
  });

  const refused = async (authenticate: TestLogins['authenticate'], token: string): Promise<void> => {
    const { code, status, publicMessage } = await refusalOf(authenticate(token));
    assert.deepEqual([code, status], ['invalid_login_token', 401], publicMessage);
    assert.match(publicMessage, /^This login token is not valid: .{5,260}\.$/);
  };
  const publicPem = async (): Promise<string> => exportSPKI((await importJWK(key.publicJwk, 'RS256', { extractable: true })) as CryptoKey);
  const signText = async (text: string): Promise<string> => {
    const [header] = (await sign({}, key)).split('.');
    const signed = `${header}.${Buffer.from(text).toString('base64url')}`;
    const signature = await crypto.subtle.sign('RSASSA-PKCS1-v1_5', key.privateKey, Buffer.from(signed));
    return `${signed}.${Buffer.from(signature).toString('base64url')}`;
  };
  const hmac = (claims: JWTPayload, secret: string | Buffer): string => {
    const unsigned = compose({ alg: 'HS256', kid: 'k1', typ: 'JWT' }, claims, '');
    return unsigned + createHmac('sha256', secret).update(unsigned.slice(0, -1)).digest('base64url');
  };
});

describe('a loopback host', () => {
  it('a loopback host is localhost or an address of this machine', () => {
    for (const host of ['localhost', 'LOCALHOST', '127.0.0.1', '127.255.255.254', '::1', '[::1]']) assert.ok(isLoopbackHost(host), host);
  });

  it('a name or address that only looks like a loopback host is none', () => {
    const others = [
      '',
      '0.0.0.0',
      '::',
      '[::]',
      '128.0.0.1',
      '127.1',
      '127.0.0.256',
      '127.0.0.01',
      '0127.0.0.1',
      '2130706433',
      'localhost.',
      'localhost.evil.example',
    ];
    const names = [
      '127.0.0.1.evil.example',
      'evil-localhost',
      'a.localhost',
      '127.0.0.1:80',
      '::ffff:127.0.0.1',
      '[::1',
      'berth.example',
      '10.0.0.1',
      ' 127.0.0.1',
      '127.0.0.1\n',
    ];
    for (const host of [...others, ...names]) assert.ok(!isLoopbackHost(host), host);
  });
});
