import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { before, describe, it, type TestContext } from 'node:test';
import { exportJWK } from 'jose';
import { ManualClock, type Clock } from '@berth/lib/clock.ts';
import {
  Provider,
  audience,
  compose,
  configFor,
  goodClaims,
  newKey,
  openLogins,
  refusalOf,
  sign,
  type TestLogins,
  type SigningKey,
} from '../../../testing/accounts/login.ts';
import type { LoginConfig } from './login.ts';

const coolDownMs = 30_000;
const maxAgeMs = 600_000;

let first: SigningKey;
let second: SigningKey;
before(async () => {
  [first, second] = await Promise.all([newKey('k1'), newKey('k2', 'ES256')]);
});

interface Setting extends TestLogins {
  provider: Provider;
  /** A token of now that the key has signed. */
  token(key: SigningKey): Promise<string>;
}

async function set(
  t: TestContext,
  { clock = new ManualClock(), ...changes }: Partial<LoginConfig> & { clock?: Clock } = {},
): Promise<Setting> {
  const provider = await Provider.start(t, first);
  const opened = openLogins(configFor(provider, changes), { clock });
  return { ...opened, provider, token: (key) => sign(goodClaims(provider.issuer, clock), key) };
}

const codeOf = async (entering: Promise<unknown>): Promise<string> => (await refusalOf(entering)).code;
const down = { status: 503, body: 'down' };

describe('the keys of the identity provider', () => {
  it('the keys of the identity provider are requested by the first token, and once for all that come at the same time', async (t) => {
    const { provider, authenticate, token } = await set(t);
    assert.equal(provider.keyRequests, 0);
    const tokens = await Promise.all(Array.from({ length: 50 }, () => token(first)));
    await Promise.all(tokens.map(authenticate));
    assert.equal(provider.keyRequests, 1);
  });

  it('the keys of the identity provider are requested once in half a minute by a thousand tokens with made-up key ids', async (t) => {
    const { provider, authenticate, token, clock } = await set(t);
    await authenticate(await token(first));
    clock.advance(coolDownMs);
    const claims = goodClaims(provider.issuer, clock);
    const forged = Array.from({ length: 1000 }, () => compose({ alg: 'RS256', kid: randomUUID() }, claims));
    const codes = await Promise.all(forged.map((one) => codeOf(authenticate(one))));
    assert.deepEqual([...new Set(codes)], ['invalid_login_token']);
    assert.equal(provider.keyRequests, 2);
    assert.equal((await authenticate(await token(first))).owner, 'acme');
  });

  it('the keys of the identity provider are requested no more often while the provider is down', async (t) => {
    const { provider, authenticate, clock } = await set(t);
    provider.answer = down;
    for (let second = 0; second < 60; second += 1) {
      const forged = compose({ alg: 'RS256', kid: randomUUID() }, goodClaims(provider.issuer, clock));
      assert.equal(await codeOf(authenticate(forged)), 'login_unavailable');
      clock.advance(1000);
    }
    assert.equal(provider.keyRequests, 2);
  });

  it('the keys of the identity provider may be exchanged: a new one is accepted after the cool-down, an old one until it is withdrawn', async (t) => {
    const { provider, authenticate, token, clock } = await set(t);
    await authenticate(await token(first));
    provider.publish(first, second);
    assert.equal(await codeOf(authenticate(await token(second))), 'invalid_login_token');
    clock.advance(coolDownMs);
    assert.equal((await authenticate(await token(second))).owner, 'acme');
    assert.equal((await authenticate(await token(first))).owner, 'acme');

    provider.publish(second);
    assert.equal((await authenticate(await token(first))).owner, 'acme');
    clock.advance(maxAgeMs);
    assert.equal(await codeOf(authenticate(await token(first))), 'invalid_login_token');
    assert.equal((await authenticate(await token(second))).owner, 'acme');
    assert.equal(provider.keyRequests, 3);
  });

  it('known keys of the identity provider stay valid for ten minutes while the provider is down, and unknown ones wait', async (t) => {
    const { provider, authenticate, token, clock } = await set(t);
    await authenticate(await token(first));
    provider.answer = down;
    clock.advance(maxAgeMs - 1);
    assert.equal(await codeOf(authenticate(await token(second))), 'login_unavailable');
    assert.equal((await authenticate(await token(first))).owner, 'acme');
    clock.advance(1);
    assert.equal(await codeOf(authenticate(await token(first))), 'login_unavailable');
  });

  it('the keys of the identity provider are requested again when the provider is back, half a minute after it failed', async (t) => {
    const { provider, authenticate, token, clock } = await set(t);
    provider.answer = down;
    const { status, retryAfterSeconds } = await refusalOf(authenticate(await token(first)));
    assert.deepEqual([status, retryAfterSeconds], [503, 30]);
    provider.answer = null;
    clock.advance(coolDownMs - 1000);
    assert.equal((await refusalOf(authenticate(await token(first)))).retryAfterSeconds, 1);
    clock.advance(1000);
    assert.equal((await authenticate(await token(first))).owner, 'acme');
    assert.equal(provider.keyRequests, 2);
  });

  it('the keys of the identity provider do not depend on the wall clock, which may jump', async (t) => {
    const time = new ManualClock();
    let jumpMs = 0;
    const clock: Clock = { now: () => new Date(time.now().getTime() + jumpMs), monotonicMs: () => time.monotonicMs() };
    const { provider, authenticate, token } = await set(t, { clock });
    await authenticate(await token(first));
    for (jumpMs of [3_600_000, -3_600_000]) assert.equal((await authenticate(await token(first))).owner, 'acme');
    assert.equal(provider.keyRequests, 1);
    provider.publish(first, second);
    time.advance(coolDownMs);
    assert.equal((await authenticate(await token(second))).owner, 'acme');
  });

  const garbage: Record<string, () => { status?: number; headers?: Record<string, string>; body: string }> = {
    'a page': () => ({ headers: { 'content-type': 'text/html' }, body: '<!doctype html><p>Sorry' }),
    'half of it': () => ({ body: JSON.stringify({ keys: [first.publicJwk] }).slice(0, -20) }),
    nothing: () => ({ body: '' }),
    null: () => ({ body: 'null' }),
    'another object': () => ({ body: '{"error":"internal"}' }),
    'keys that are no list': () => ({ body: '{"keys":"k1"}' }),
    'keys that are no objects': () => ({ body: '{"keys":[1,null]}' }),
    'no keys': () => ({ body: '{"keys":[]}' }),
    'keys without end': () => ({ body: JSON.stringify({ keys: [first.publicJwk], padding: 'x'.repeat(300_000) }) }),
    'the keys with an error': () => ({ status: 500, body: JSON.stringify({ keys: [first.publicJwk] }) }),
    'those of another address': () => ({ status: 302, headers: { location: '/elsewhere' }, body: '' }),
  };
  for (const [what, answer] of Object.entries(garbage))
    it(`the keys of the identity provider are not replaced by ${what}`, async (t) => {
      const { provider, authenticate, token, clock } = await set(t);
      await authenticate(await token(first));
      provider.answer = answer();
      clock.advance(coolDownMs);
      assert.equal(await codeOf(authenticate(await token(second))), 'login_unavailable');
      assert.equal((await authenticate(await token(first))).owner, 'acme');
      provider.answer = null;
      provider.publish(first, second);
      clock.advance(coolDownMs);
      assert.equal((await authenticate(await token(second))).owner, 'acme');
    });

  it('the keys of the identity provider are used one by one: a broken or private one does not spoil the others', async (t) => {
    const { provider, authenticate, token } = await set(t);
    const secret = await exportJWK(second.privateKey);
    provider.keys = [{ ...second.publicJwk, kid: 'broken', x: 'AA' }, { ...secret, kid: 'k2', alg: 'ES256' }, first.publicJwk];
    assert.equal((await authenticate(await token(first))).owner, 'acme');
    assert.equal(await codeOf(authenticate(await token({ ...second, kid: 'broken' }))), 'login_unavailable');
    assert.equal(await codeOf(authenticate(await token(second))), 'login_unavailable');
  });
});

describe('the discovery document', () => {
  it('the discovery document names the address of the keys, and is read once', async (t) => {
    const { provider, authenticate, token, clock } = await set(t, { jwksUrl: null });
    assert.equal(provider.discoveryRequests, 0);
    await authenticate(await token(first));
    clock.advance(maxAgeMs);
    await authenticate(await token(first));
    assert.deepEqual([provider.discoveryRequests, provider.keyRequests], [1, 2]);
  });

  it('the discovery document is not read where the operator has configured the address', async (t) => {
    const { provider, authenticate, token } = await set(t);
    await authenticate(await token(first));
    assert.equal(provider.discoveryRequests, 0);
  });

  it('the discovery document is found under an issuer that ends with a slash', async (t) => {
    const { provider } = await set(t);
    provider.issuer += '/';
    provider.discovery = { issuer: provider.issuer, jwks_uri: `${provider.issuer}keys` };
    const { authenticate, clock } = openLogins(configFor(provider, { jwksUrl: null }));
    assert.equal((await authenticate(await sign(goodClaims(provider.issuer, clock), first))).owner, 'acme');
  });

  it('the discovery document is requested again when there are no keys any more where it has pointed', async (t) => {
    const { provider, authenticate, token, clock } = await set(t, { jwksUrl: null });
    await authenticate(await token(first));
    provider.answer = down;
    clock.advance(maxAgeMs);
    assert.equal(await codeOf(authenticate(await token(first))), 'login_unavailable');
    provider.answer = null;
    clock.advance(coolDownMs);
    await authenticate(await token(first));
    assert.equal(provider.discoveryRequests, 2);
  });

  it('the discovery document of a safe issuer is refused where it points to keys at an unsafe address', async (t) => {
    const issuer = 'https://issuer.example';
    const asked: string[] = [];
    t.mock.method(globalThis, 'fetch', (url: URL) => {
      asked.push(url.href);
      return Promise.resolve(Response.json({ issuer, jwks_uri: 'http://issuer.example/keys', keys: [first.publicJwk] }));
    });
    const { authenticate, clock } = openLogins({ issuer, audience, jwksUrl: null, orgClaim: 'org_id', algorithms: ['RS256'] });
    assert.equal(await codeOf(authenticate(await sign(goodClaims(issuer, clock), first))), 'login_unavailable');
    assert.deepEqual(asked, [`${issuer}/.well-known/openid-configuration`]);
  });

  const wrong: Record<string, (issuer: string) => Record<string, unknown>> = {
    'of another issuer': (issuer) => ({ issuer: 'https://other.example', jwks_uri: `${issuer}/keys` }),
    'without keys': (issuer) => ({ issuer }),
    'whose keys are a file': (issuer) => ({ issuer, jwks_uri: 'file:///etc/passwd' }),
    'whose keys are no address': (issuer) => ({ issuer, jwks_uri: 7 }),
  };
  for (const [what, document] of Object.entries(wrong))
    it(`a discovery document is refused: one ${what}`, async (t) => {
      const { provider, authenticate, token } = await set(t, { jwksUrl: null });
      provider.discovery = document(provider.issuer);
      assert.equal(await codeOf(authenticate(await token(first))), 'login_unavailable');
      assert.equal(provider.keyRequests, 0);
    });
});
