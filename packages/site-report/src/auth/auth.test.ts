import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { InspectAuth } from '@berth/contract';
import type { CapturedExchange } from '../exchange.ts';
import { cookie, entry, inputOf, page, secret, startTime } from '../../testing/captures.ts';
import { createAuth } from './auth.ts';

const shop = 'https://shop.test';
const api = 'https://api.shop.test';

type Fields = Parameters<typeof inputOf>[0];

function authOf(fields: Fields, endpointOf?: (exchange: CapturedExchange) => string | null) {
  const auth = createAuth(inputOf(fields), endpointOf);
  // The section is what its schema says, no more and no less.
  assert.deepEqual(InspectAuth.parse(auth), auth);
  return auth;
}

const mechanismsOf = (fields: Fields): string[] =>
  authOf(fields).mechanisms.map(({ type, in: where, name, scheme }) => [type, where, name, scheme].map((part) => part ?? '-').join(' '));

const call = (headers: Record<string, string>, url = `${api}/me`) => entry(url, { type: 'fetch', headers, reply: '{}' });

describe('mechanisms', () => {
  it('authentication mechanisms are recognized in every place of a request', () => {
    const secrets = [
      secret('{{jwt_1}}', { kind: 'jwt', jwt: { alg: 'RS256' } }),
      secret('{{token_1}}'),
      secret('{{api_key_1}}', { kind: 'api_key' }),
      secret('{{csrf_1}}', { kind: 'csrf_token' }),
      secret('{{signature_1}}', { kind: 'signature' }),
    ];
    const cases: [expected: string, ReturnType<typeof entry>][] = [
      ['bearer_jwt header authorization Bearer', call({ Authorization: 'Bearer {{jwt_1}}' })],
      ['bearer_opaque header authorization Bearer', call({ Authorization: 'Bearer {{token_1}}' })],
      ['bearer_opaque header authorization Token', call({ Authorization: 'Token {{token_1}}' })],
      ['basic header authorization Basic', call({ Authorization: 'Basic {{password_1}}' })],
      ['hmac_signed header authorization AWS4-HMAC-SHA256', call({ Authorization: 'AWS4-HMAC-SHA256 Credential=a' })],
      ['api_key header authorization ApiKey', call({ Authorization: 'ApiKey {{api_key_1}}' })],
      ['api_key header x-api-key -', call({ 'X-Api-Key': '{{api_key_1}}' })],
      ['api_key query key -', call({}, `${api}/tiles?key={{api_key_1}}`)],
      ['bearer_opaque header x-access-token -', call({ 'x-access-token': '{{token_1}}' })],
      ['bearer_jwt query access_token -', call({}, `${api}/stream?access_token={{jwt_1}}`)],
      ['csrf_token header x-csrf-token -', call({ 'x-csrf-token': '{{csrf_1}}' })],
      [
        'csrf_token body _csrf -',
        entry(`${shop}/a`, {
          method: 'POST',
          headers: { 'content-type': 'application/x-www-form-urlencoded' },
          body: '_csrf={{csrf_1}}&a=1',
        }),
      ],
      ['hmac_signed header x-signature -', call({ 'x-signature': '{{signature_1}}' })],
      [
        'saml - - saml',
        entry(`${shop}/saml/acs`, {
          method: 'POST',
          headers: { 'content-type': 'application/x-www-form-urlencoded' },
          body: 'SAMLResponse={{saml_1}}',
        }),
      ],
    ];
    for (const [expected, request] of cases) assert.deepEqual(mechanismsOf({ entries: [entry(shop), request], secrets }), [expected]);
  });

  it('values that merely resemble a credential are no authentication mechanism', () => {
    const entries = [
      entry(shop, { headers: { cookie: '_ga=1; theme=dark; cookieconsent=1; cart=2', 'if-none-match': '{{token_1}}' } }),
      call({ 'x-request-id': '{{token_1}}', accept: 'application/json' }),
      // Before a script has a token.
      call({ Authorization: 'Bearer null' }),
      call({ Authorization: 'undefined' }),
      call({}, `${api}/search?q=key&page=2&state={{token_1}}&code={{token_1}}`),
      call({}, 'https://maps.example/tiles?key={{api_key_1}}'),
      entry(`${api}/login`, {
        method: 'POST',
        type: 'fetch',
        body: '{"password":"{{password_1}}","refresh_token":"{{token_1}}"}',
        reply: '{}',
      }),
      entry(`${api}/me`, { method: 'OPTIONS', type: 'preflight', headers: { 'access-control-request-headers': 'authorization' } }),
    ];
    const secrets = [secret('{{token_1}}'), secret('{{api_key_1}}', { kind: 'api_key' }), secret('{{password_1}}', { kind: 'password' })];
    assert.deepEqual(mechanismsOf({ entries, secrets }), ['none - - -']);
  });

  it('authentication mechanisms have hosts, endpoints, storage, issuer, JWT claims by name, and evidence', () => {
    const token = secret('{{jwt_1}}', {
      kind: 'jwt',
      jwt: { alg: 'HS256', iss: shop, aud: ['desk'], claimNames: ['exp', 'sub'], expiresAt: startTime / 1000 + 960 },
      at: ['response_body 1 access_token', 'request_header 2 authorization', 'local_storage - token'],
    });
    const entries = [
      entry(shop),
      entry(`${shop}/login`, { type: 'fetch', method: 'POST', reply: '{"access_token":"{{jwt_1}}"}', startMs: 60_000 }),
      call({ authorization: 'Bearer {{jwt_1}}' }),
      call({ authorization: 'Bearer {{jwt_1}}' }, `${shop}/orders`),
    ];
    const { mechanisms } = authOf({ entries, secrets: [token], pages: [page()] }, ({ index }) => (index > 1 ? `E${index}` : null));
    assert.deepEqual(mechanisms, [
      {
        ...{ id: 'auth1', type: 'bearer_jwt', in: 'header', name: 'authorization', scheme: 'Bearer', storage: 'local', cookie_flags: null },
        hosts: ['api.shop.test', 'shop.test'],
        endpoints: ['E2', 'E3'],
        issued_by: ['r1'],
        jwt: { alg: 'HS256', iss: shop, aud: ['desk'], exp_in_seconds: 900, claim_names: ['exp', 'sub'] },
        ...{ confidence: 'high', evidence: ['r2', 'r3'] },
      },
    ]);
  });
});

describe('a session cookie', () => {
  it('a session cookie is known by its name, and has its attributes but no value', () => {
    const { mechanisms } = authOf({
      entries: [entry(shop, { headers: { cookie: 'sid={{cookie_3}}; theme=dark' } })],
      cookies: [cookie('sid', { expires: startTime / 1000 + 3600 })],
      secrets: [secret('{{cookie_3}}', { kind: 'cookie', at: ['request_cookie 0 sid'] })],
    });
    assert.equal(mechanisms.length, 1);
    assert.equal(mechanisms[0]?.type, 'cookie_session');
    assert.equal(mechanisms[0].storage, 'cookie');
    assert.deepEqual(mechanisms[0].cookie_flags, { http_only: true, secure: true, same_site: 'lax', expires_in: 3600 });
  });

  it('a session cookie is one of any name that the response to a sign-in sets for the server alone', () => {
    const login = entry(`${shop}/login`, {
      method: 'POST',
      body: 'password={{password_1}}',
      replyHeaders: { 'set-cookie': ['quay={{cookie_1}}; HttpOnly; Path=/; Max-Age=60', 'seen=1; Path=/'] },
    });
    const secrets = [secret('{{password_1}}', { kind: 'password', at: ['request_body 0 password'] })];
    const entries = [login, entry(`${shop}/account`, { headers: { cookie: 'quay={{cookie_1}}; seen=1' } })];
    const { mechanisms } = authOf({ entries, secrets });
    assert.deepEqual(
      mechanisms.map(({ name, issued_by: issuers }) => [name, issuers]),
      [['quay', ['r0']]],
    );
  });

  it('a cookie of another site is no session cookie', () => {
    assert.deepEqual(mechanismsOf({ entries: [entry(shop), call({ cookie: 'sid=1' }, 'https://ads.example/pixel')] }), ['none - - -']);
  });
});

describe('sign-in flows', () => {
  const authorize = entry(
    'https://id.shop.test/authorize?response_type=code&client_id=desk&scope=openid+email&code_challenge=x&code_challenge_method=S256',
    { status: 302 },
  );
  const token = entry('https://id.shop.test/token', {
    ...{ method: 'POST', type: 'fetch', headers: { 'content-type': 'application/x-www-form-urlencoded' } },
    body: 'grant_type=authorization_code&code={{oauth_code_1}}&code_verifier={{pkce_verifier_1}}',
    reply: '{"access_token":"{{token_1}}","id_token":"{{jwt_1}}","expires_in":3600}',
  });
  const discovery = {
    issuer: 'https://id.shop.test',
    authorization_endpoint: 'https://id.shop.test/authorize',
    token_endpoint: 'https://id.shop.test/token',
  };

  it('the code flow with PKCE of OpenID Connect is one mechanism', () => {
    const wellKnown = entry('https://id.shop.test/.well-known/openid-configuration', {
      type: 'fetch',
      reply: JSON.stringify({ ...discovery, scopes_supported: ['openid'], code_challenge_methods_supported: ['S256'] }),
    });
    const { mechanisms, oidc, session_lifetime_hint: seconds } = authOf({ entries: [wellKnown, authorize, token] });
    assert.deepEqual(
      mechanisms.map(({ type, in: where, name, scheme, evidence }) => [type, where, name, scheme, evidence]),
      [['oidc', null, null, 'authorization_code with PKCE', ['r1', 'r2']]],
    );
    assert.deepEqual(oidc, {
      ...discovery,
      ...{ scopes_supported: ['openid'], pkce: 'S256', discovery: true, confidence: 'high', evidence: ['r0', 'r1', 'r2'] },
    });
    assert.equal(seconds, 3600);
  });

  it('sign-in flows are OAuth where nobody asks for an identity, and the provider is known by its probe', () => {
    const plain = entry('https://id.shop.test/authorize?response_type=code&client_id=desk&scope=orders', { status: 302 });
    assert.deepEqual(mechanismsOf({ entries: [plain] }), ['oauth2 - - authorization_code']);
    const probes = [
      { path: '/.well-known/openid-configuration', statusCode: 200, contentType: 'application/json', body: JSON.stringify(discovery) },
    ];
    assert.equal(authOf({ entries: [entry(shop)], probes }).oidc?.issuer, 'https://id.shop.test');
  });

  it('sign-in flows that renew tokens have the interval', () => {
    const renew = (startMs: number) =>
      entry(`${api}/auth/refresh`, {
        method: 'POST',
        type: 'fetch',
        body: '{"refresh_token":"{{refresh_1}}"}',
        reply: '{"access_token":"{{jwt_1}}"}',
        startMs,
      });
    const { token_refresh: refreshes } = authOf({ entries: [entry(shop), renew(1000), renew(301_000)] }, () => 'E1');
    assert.deepEqual(refreshes, [
      { endpoint_id: 'E1', url: `${api}/auth/refresh`, method: 'POST', interval_s: 300, confidence: 'high', evidence: ['r1', 'r2'] },
    ]);
  });
});

describe('CSRF tokens', () => {
  const request = call({ 'x-csrf-token': '{{csrf_1}}' });
  const sourceOf = (html: string, at: string[] = [], name = 'x-csrf-token') => {
    const { csrf } = authOf({
      entries: [entry(shop, { reply: html }), call({ [name]: '{{csrf_1}}' })],
      pages: [page({ html })],
      secrets: [secret('{{csrf_1}}', { kind: 'csrf_token', at })],
    });
    return [csrf[0]?.source, csrf[0]?.source_name];
  };

  it('CSRF tokens have the source from which the page reads them', () => {
    assert.deepEqual(sourceOf('<meta name="csrf-token" content="{{csrf_1}}">'), ['meta', 'csrf-token']);
    assert.deepEqual(sourceOf('<form><input type=hidden name="_csrf" value="{{csrf_1}}"></form>'), ['hidden', '_csrf']);
    assert.deepEqual(sourceOf('', ['set_cookie 0 XSRF-TOKEN'], 'x-xsrf-token'), ['cookie', 'XSRF-TOKEN']);
    assert.deepEqual(sourceOf('', ['response_header 0 x-csrf-token']), ['header', 'x-csrf-token']);
    assert.deepEqual(sourceOf('', ['response_body 0 csrfToken']), ['body', 'csrfToken']);
    assert.deepEqual(sourceOf(''), ['unknown', null]);
    assert.ok(request);
  });
});

describe('sign-in forms', () => {
  const formsOf = (html: string, url = `${shop}/login`) => authOf({ entries: [entry(url)], pages: [page({ url, html })] }).login_forms;

  it('sign-in forms have fields, selectors, the CSRF field and the captcha', () => {
    const [form, ...others] = formsOf(`<form method="post" action="/session" id="login"><input type="hidden" name="csrf" value="{{csrf_1}}">
      <input id="email" name="email" type="email" autocomplete="username"><input name="password" type="password" autocomplete="current-password">
      <div class="g-recaptcha"></div><button class="primary">Log in</button></form>`);
    assert.deepEqual(others, []);
    assert.deepEqual(form, {
      ...{ page: `${shop}/login`, action: `${shop}/session`, method: 'post', mfa_hint: false, captcha: 'recaptcha', csrf_field: 'csrf' },
      fields: [
        { name: 'email', type: 'email', autocomplete: 'username', selector: '#email' },
        { name: 'password', type: 'password', autocomplete: 'current-password', selector: 'input[name="password"]' },
      ],
      ...{
        submit_selector: '#login > button',
        password_field: 'input[name="password"]',
        over_https: true,
        confidence: 'high',
        evidence: ['r0'],
      },
    });
  });

  it('sign-in forms are recognized without a form element, in the first of two steps, and for one-time codes', () => {
    assert.equal(formsOf('<div><div><input type=email></div><div><input type=password></div><button>Go</button></div>').length, 1);
    assert.equal(
      formsOf('<form><input name=email type=email><button>Next</button></form>', `${shop}/login/steps`)[0]?.password_field,
      null,
    );
    assert.equal(
      formsOf('<form><input name=code autocomplete=one-time-code><button>Next</button></form>', `${shop}/login/otp`)[0]?.mfa_hint,
      true,
    );
  });

  it('forms of registration, search and newsletters are no sign-in forms', () => {
    assert.deepEqual(
      formsOf('<form><input type=email><input type=password autocomplete=new-password><button>Register</button></form>'),
      [],
    );
    assert.deepEqual(formsOf('<form><input type=password><input type=password><button>Create account</button></form>'), []);
    assert.deepEqual(
      formsOf('<form action="/search"><input name=q></form><form><input type=email><button>Subscribe</button></form>', shop),
      [],
    );
  });
});

describe('identity providers and sign-out', () => {
  it('identity providers and sign-out are known by address, by path and by text', () => {
    const html = `<a id="g" href="https://accounts.google.com/o/oauth2/v2/auth?client_id=123.apps&state={{token_1}}">G</a>
      <a id="gh" href="/auth/github">Octocat</a><button id="ms">Continue with Microsoft</button><button id="h">Sign in with Harbour ID</button>
      <a href="https://github.com/shop/docs">Source</a><a href="/logout">Log out</a><form action="/sign-out?next=/"></form><a href="/blog/logouts">x</a>`;
    const { sso, logout_urls: urls } = authOf({ entries: [entry(shop)], pages: [page({ html })] });
    assert.deepEqual(
      sso.map(({ provider, selector, client_id: id }) => [provider, selector, id]),
      [
        ['google', '#g', '123.apps'],
        ['github', '#gh', null],
        ['microsoft', '#ms', null],
        ['other', '#h', null],
      ],
    );
    assert.deepEqual(urls, [`${shop}/logout`, `${shop}/sign-out?next=/`]);
  });
});

describe('what needs a sign-in', () => {
  it('a page that redirects to a sign-in, and a call that is refused without a credential, need a sign-in', () => {
    const redirected = [entry(`${shop}/account`, { status: 302 }), entry(`${shop}/login?next=/account`)];
    assert.equal(authOf({ url: `${shop}/account`, entries: redirected }).required_for_page, true);
    assert.equal(authOf({ entries: [entry(shop, { status: 301 }), entry(`${shop}/en`)] }).required_for_page, false);
    const refused = { type: 'fetch', status: 401, reply: '{}' };
    const entries = [
      entry(shop),
      entry(`${api}/me`, refused),
      entry(`${api}/you`, { ...refused, headers: { authorization: 'Bearer {{token_1}}' } }),
    ];
    assert.deepEqual(authOf({ entries }).unauthenticated_probes, [
      { endpoint_id: null, url: `${api}/me`, status_code: 401, confidence: 'high', evidence: ['r1'] },
    ]);
  });

  it('recommendations for signing in are in the order of the steps', () => {
    const entries = [entry(`${shop}/login`), call({ authorization: 'Bearer {{token_1}}', 'x-csrf-token': '{{csrf_1}}' })];
    const secrets = [secret('{{token_1}}'), secret('{{csrf_1}}', { kind: 'csrf_token' })];
    const html =
      '<meta name="csrf-token" content="{{csrf_1}}"><form action="/login" method="post"><input type="password"><button>Log in</button></form>';
    assert.deepEqual(authOf({ entries, secrets, pages: [page({ url: `${shop}/login`, html })] }, () => 'E1').recommendations, [
      `Log in once with the form on ${shop}/login and take the token from the response; then call E1.`,
      'Send the token in the header authorization with the scheme Bearer.',
      'Read the CSRF token from the meta element csrf-token and send it as x-csrf-token in the header of requests that change something.',
    ]);
    assert.deepEqual(authOf({}).recommendations, ['No request carried a credential: call the endpoints without one.']);
  });
});
