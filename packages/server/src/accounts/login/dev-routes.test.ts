import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { decodeJwt } from 'jose';
import { sendRaw, serve } from '../../../testing/server.ts';
import { ManualClock } from '@berth/lib/clock.ts';
import { audience, openLogins } from '../../../testing/accounts/login.ts';
import { createDevIssuer, mountDevIdp } from './login.ts';

interface Setting {
  origin: string;
  port: number;
  clock: ManualClock;
  /** The owner whom a token acts for. */
  ownerOf(token: string): Promise<string | null>;
  post(path: string, fields: Record<string, string>, headers?: Record<string, string>): Promise<Response>;
}

async function set(t: TestContext): Promise<Setting> {
  const folder = mkdtempSync(join(tmpdir(), 'berth-dev-idp-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const clock = new ManualClock();
  const issuer = createDevIssuer({ secretFile: join(folder, 'key'), clock, audience });
  const { origin, port } = await serve(t, (http) => mountDevIdp(http, issuer));
  const { authenticate } = openLogins(issuer.login, { clock });
  const post = (path: string, fields: Record<string, string>, headers: Record<string, string> = {}): Promise<Response> =>
    fetch(`${origin}/dev-idp${path}`, { method: 'POST', body: new URLSearchParams(fields), headers, redirect: 'manual' });
  return { origin, port, clock, post, ownerOf: async (token) => (await authenticate(token)).owner };
}

const ada = { email: 'ada@example.com', organisation: 'acme' };
const codeVerifier = randomBytes(32).toString('base64url');
const codeChallenge = createHash('sha256').update(codeVerifier).digest('base64url');
const callback = 'http://localhost:3000/callback?kept=1';
const asked = {
  response_type: 'code',
  client_id: 'dashboard',
  redirect_uri: callback,
  code_challenge: codeChallenge,
  code_challenge_method: 'S256',
  state: 's & <t>',
};
const exchange = { grant_type: 'authorization_code', client_id: 'dashboard', redirect_uri: callback, code_verifier: codeVerifier };

/** The code of somebody who has just signed in. */
async function codeOf({ post }: Setting, fields: Record<string, string> = {}): Promise<string> {
  const response = await post('/authorize', { ...asked, ...ada, ...fields });
  assert.equal(response.status, 303, await response.text());
  return new URL(response.headers.get('location') ?? '').searchParams.get('code') ?? '';
}

describe('the development sign-in', () => {
  it('the development sign-in asks for a name, and answers with a token and the commands that use it', async (t) => {
    const { origin, post, ownerOf } = await set(t);
    // Opened by a link to which a mail program has added a parameter.
    const form = await (await fetch(`${origin}/dev-idp?utm_source=mail`)).text();
    for (const part of ['<label for="email">', '<label for="organisation">', 'action="/dev-idp/sign-in"'])
      assert.ok(form.includes(part), part);
    const page = await (await post('/sign-in', ada, { origin })).text();
    const [, token = ''] = /readonly[^>]*>(eyJ[\w.-]+)</.exec(page) ?? [];
    assert.equal(await ownerOf(token), 'acme');
    assert.deepEqual(
      [decodeJwt(token).iss, decodeJwt(token).aud, decodeJwt(token)['email']],
      [`${origin}/dev-idp`, 'berth', 'ada@example.com'],
    );
    assert.ok(page.includes(`curl -X POST ${origin}/v1/keys`), page);
  });

  it('the development sign-in cannot be framed by another page, runs no scripts, and is not cached', async (t) => {
    const { origin, post } = await set(t);
    for (const page of [
      await fetch(`${origin}/dev-idp`),
      await post('/sign-in', ada),
      await post('/sign-in', { email: '' }),
      await fetch(`${origin}/dev-idp/authorize`),
    ]) {
      const policy = page.headers.get('content-security-policy') ?? '';
      for (const rule of ["default-src 'none'", "form-action 'self'", "frame-ancestors 'none'", "base-uri 'none'"])
        assert.ok(policy.includes(rule), policy);
      assert.ok(!policy.includes('script-src') && !policy.includes('unsafe'), policy);
      assert.deepEqual(
        ['content-type', 'cache-control', 'referrer-policy', 'x-content-type-options'].map((name) => page.headers.get(name)),
        ['text/html; charset=utf-8', 'no-store', 'same-origin', 'nosniff'],
      );
      assert.ok(!/<script|\s(?:style|on\w+)=/i.test(await page.text()));
    }
    const style = await fetch(`${origin}/dev-idp/pages.css`);
    assert.equal(style.headers.get('content-type'), 'text/css; charset=utf-8');
    assert.match(await style.text(), /prefers-color-scheme: dark/);
  });

  it('the development sign-in says what is wrong with the input, and shows it again as text', async (t) => {
    const { post } = await set(t);
    const typed = { email: '"><script>alert(1)</script>', organisation: "ac me'><b>" };
    const page = await post('/sign-in', typed);
    assert.equal(page.status, 422);
    const text = await page.text();
    assert.ok(text.includes('value="&quot;&gt;&lt;script&gt;alert(1)&lt;/script&gt;"') && text.includes('ac me&#39;&gt;&lt;b&gt;'), text);
    assert.ok(!text.includes('<script') && !text.includes('<b>'));
    assert.equal(text.match(/aria-invalid="true"/g)?.length, 2);
    assert.match(text, /aria-describedby="organisation-fault organisation-hint"/);
    for (const fields of [
      { email: 'ada' },
      { email: '' },
      { organisation: '' },
      { organisation: '-acme' },
      { organisation: 'a'.repeat(65) },
    ])
      assert.equal((await post('/sign-in', { ...ada, ...fields })).status, 422, JSON.stringify(fields));
  });

  it('the development sign-in is closed to pages of sites that let their name point to this machine', async (t) => {
    const { port } = await set(t);
    const hosts = [
      `evil.example:${port}`,
      'evil.example',
      '0.0.0.0',
      '127.0.0.1.evil.example',
      'a!b.evil.example',
      'localhost.',
      `[::ffff:127.0.0.1]:${port}`,
    ];
    for (const path of ['', '/authorize', '/jwks', '/pages.css', '/.well-known/openid-configuration'])
      for (const host of hosts) {
        const { status, body } = await sendRaw(port, `GET /dev-idp${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
        assert.deepEqual([status, body.includes('"code":"origin_not_allowed"')], [403, true], `${host} ${path}`);
      }
    for (const host of [`localhost:${port}`, 'LOCALHOST', '127.0.0.1', `[::1]:${port}`])
      assert.equal((await sendRaw(port, `GET /dev-idp HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)).status, 200, host);
  });

  it('the development sign-in refuses a form that another site’s page has sent', async (t) => {
    const { post } = await set(t);
    for (const origin of ['https://evil.example', 'null', 'http://127.0.0.1:1', 'http://localhost'])
      for (const path of ['/sign-in', '/authorize'])
        assert.equal((await post(path, { ...asked, ...ada }, { origin })).status, 403, `${origin} ${path}`);
  });

  it('the development sign-in takes forms only, of a size that people type', async (t) => {
    const { origin, post } = await set(t);
    const json = await fetch(`${origin}/dev-idp/sign-in`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' });
    assert.equal(json.status, 415);
    assert.equal((await post('/sign-in', { ...ada, more: 'x'.repeat(20_000) })).status, 413);
  });

  it('the development sign-in keeps no token for a repeated request', async (t) => {
    const { post } = await set(t);
    const [one, other] = await Promise.all([
      post('/sign-in', ada, { 'idempotency-key': 'k' }),
      post('/sign-in', ada, { 'idempotency-key': 'k' }),
    ]);
    assert.deepEqual([one.status, other.status, other.headers.get('idempotent-replayed')], [200, 200, null]);
  });
});

describe('a program that asks for a login token', () => {
  it('a program that asks for a login token finds all addresses in the discovery document, under the name that it has used', async (t) => {
    const { origin, port } = await set(t);
    for (const base of [origin, `http://localhost:${port}`]) {
      const document = (await (await fetch(`${base}/dev-idp/.well-known/openid-configuration`)).json()) as Record<string, unknown>;
      assert.equal(document['issuer'], `${base}/dev-idp`);
      assert.equal(document['authorization_endpoint'], `${base}/dev-idp/authorize`);
      const { keys } = (await (await fetch(String(document['jwks_uri']))).json()) as { keys: { kid: string; d?: string }[] };
      assert.equal(keys.length, 1);
      assert.equal(keys[0]?.d, undefined);
    }
  });

  it('a program that asks for a login token sends the person to a form, gets a code for it at its own address, and exchanges that', async (t) => {
    const setting = await set(t);
    const { origin, post, ownerOf } = setting;
    const form = await fetch(`${origin}/dev-idp/authorize?${new URLSearchParams({ ...asked, scope: 'openid', unknown: 'x' })}`);
    assert.equal(form.status, 200);
    // A browser holds the redirect that answers a form against the policy of the form's page.
    assert.match(form.headers.get('content-security-policy') ?? '', /form-action 'self' http:\/\/localhost:3000;/);
    assert.ok((await form.text()).includes('name="state" value="s &amp; &lt;t&gt;"'));

    const signedIn = await post('/authorize', { ...asked, ...ada }, { origin });
    assert.equal(signedIn.status, 303);
    const back = new URL(signedIn.headers.get('location') ?? '');
    assert.equal(back.origin + back.pathname, 'http://localhost:3000/callback');
    assert.deepEqual(
      [back.searchParams.get('kept'), back.searchParams.get('state'), back.searchParams.get('iss')],
      ['1', 's & <t>', `${origin}/dev-idp`],
    );

    const reply = await post('/token', { ...exchange, code: back.searchParams.get('code') ?? '' }, { origin: 'http://localhost:3000' });
    assert.deepEqual(
      [reply.status, reply.headers.get('access-control-allow-origin'), reply.headers.get('cache-control')],
      [200, 'http://localhost:3000', 'no-store'],
    );
    const { access_token: token, ...rest } = (await reply.json()) as { access_token: string };
    assert.deepEqual(rest, { token_type: 'Bearer', expires_in: 3600 });
    assert.equal(await ownerOf(token), 'acme');
  });

  it('a program that asks for a login token can use a code once, within a minute, and for what it was issued', async (t) => {
    const setting = await set(t);
    const { post, clock } = setting;
    const tryCode = async (code: string, fields: Record<string, string> = {}): Promise<unknown> => {
      const reply = await post('/token', { ...exchange, code, ...fields });
      return reply.status === 200 ? 'token' : `${reply.status} ${((await reply.json()) as { error: string }).error}`;
    };
    const used = await codeOf(setting);
    assert.equal(await tryCode(used), 'token');
    assert.equal(await tryCode(used), '400 invalid_grant');

    const old = await codeOf(setting);
    clock.advance(60_001);
    assert.equal(await tryCode(old), '400 invalid_grant');

    const others: Record<string, string>[] = [
      { code_verifier: randomBytes(32).toString('base64url') },
      { client_id: 'other' },
      { redirect_uri: 'http://localhost:3000/other' },
    ];
    for (const fields of others) {
      const code = await codeOf(setting);
      assert.equal(await tryCode(code, fields), '400 invalid_grant', JSON.stringify(fields));
      assert.equal(await tryCode(code), '400 invalid_grant', 'a code that was tried is used up');
    }
    assert.equal(await tryCode('unknown'), '400 invalid_grant');
    assert.equal(await tryCode(''), '400 invalid_request');
    assert.equal(await tryCode('x', { code_verifier: codeChallenge.slice(1) }), '400 invalid_request');
    assert.equal(await tryCode('x', { grant_type: 'password' }), '400 unsupported_grant_type');
  });

  it('a program that asks for a login token loses its code where more than a thousand people sign in after it', async (t) => {
    const setting = await set(t);
    const { post } = setting;
    const code = await codeOf(setting);
    for (let n = 0; n < 1000; n += 50) await Promise.all(Array.from({ length: 50 }, () => codeOf(setting)));
    assert.equal((await post('/token', { ...exchange, code })).status, 400);
    assert.equal((await post('/token', { ...exchange, code: await codeOf(setting) })).status, 200);
  });

  it('a program that asks for a login token gets codes only at addresses of this machine and of this service', async (t) => {
    const setting = await set(t);
    const { origin, post } = setting;
    const ask = (redirect_uri: string): Promise<Response> =>
      fetch(`${origin}/dev-idp/authorize?${new URLSearchParams({ ...asked, redirect_uri })}`);
    for (const address of [`${origin}/dashboard`, 'http://127.0.0.1:9/x', 'http://[::1]:3000/', 'https://localhost/cb']) {
      const page = await ask(address);
      assert.equal(page.status, 200, address);
      await page.body?.cancel();
    }
    const evil = [
      'https://evil.example/',
      'http://localhost.evil.example/',
      'http://localhost@evil.example/',
      'http://u:p@localhost/',
      'http://localhost/#f',
      'javascript:alert(1)',
    ];
    const broken = [
      '//localhost/',
      '/callback',
      'localhost:3000',
      'myapp://callback',
      'data:text/html,x',
      '',
      `http://localhost/${'x'.repeat(2000)}`,
    ];
    for (const address of [...evil, ...broken]) {
      const page = await ask(address);
      assert.deepEqual([page.status, page.headers.get('location')], [400, null], address);
      assert.match(await page.text(), /redirect_uri must be/);
      const answer = await post('/authorize', { ...asked, ...ada, redirect_uri: address });
      assert.deepEqual([answer.status, answer.headers.get('location')], [400, null], address);
    }
  });

  it('a program that asks for a login token gets a page that explains what is wrong with its request', async (t) => {
    const { origin } = await set(t);
    const wrong: [Record<string, string>, RegExp][] = [
      [{ response_type: 'token' }, /response_type=code/],
      [{ client_id: '' }, /client_id/],
      [{ code_challenge: '' }, /PKCE/],
      [{ code_challenge_method: 'plain' }, /PKCE/],
    ];
    for (const [fields, words] of wrong) {
      const page = await fetch(`${origin}/dev-idp/authorize?${new URLSearchParams({ ...asked, ...fields })}`);
      assert.equal(page.status, 400);
      assert.match(await page.text(), words);
    }
  });

  it('the form of a program that asks for a login token is shown again after a mistake, with all that it asked for', async (t) => {
    const { post } = await set(t);
    const page = await post('/authorize', { ...asked, ...ada, email: 'ada' });
    assert.equal(page.status, 422);
    const text = await page.text();
    for (const part of [`value="${codeChallenge}"`, 'value="acme"', 'name="state"']) assert.ok(text.includes(part), part);
    assert.match(page.headers.get('content-security-policy') ?? '', /form-action 'self' http:\/\/localhost:3000;/);
  });

  it('pages from elsewhere cannot read what a program that asks for a login token reads', async (t) => {
    const { origin, post } = await set(t);
    for (const from of ['https://evil.example', 'null', 'http://localhost.evil.example']) {
      const replies = [
        await post('/token', exchange, { origin: from }),
        await fetch(`${origin}/dev-idp/jwks`, { headers: { origin: from } }),
      ];
      for (const reply of replies) {
        assert.equal(reply.headers.get('access-control-allow-origin'), null, from);
        assert.equal(reply.headers.get('vary'), 'origin');
        await reply.body?.cancel();
      }
    }
  });
});
