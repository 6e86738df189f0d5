import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { yardsticksOf } from '../../../../tests/yardstick.ts';
import type { Capture } from '../capture.ts';
import { entry, page } from '../../testing/captures.ts';
import { redact } from './redact.ts';
import { echoEverywhere, formsOf, plantSecrets, type Planted } from '../../testing/secrets.ts';

const capture = (fields: Partial<Capture> = {}, entries = [entry('https://shop.test/')]): Capture => ({
  url: 'https://shop.test/',
  har: { log: { version: '1.2', creator: { name: 'test', version: '1' }, entries } },
  pages: [],
  cookies: [],
  probes: [],
  actions: [],
  loss: { droppedRequests: 0, droppedBytes: 0, reasons: [] },
  ...fields,
});

function leaksOf(output: string, planted: readonly Planted[]): string[] {
  return planted.flatMap(({ kind, value }) =>
    formsOf(value).flatMap((form) =>
      output.includes(form) || output.includes(JSON.stringify(form).slice(1, -1)) ? [`${kind}: ${form}`] : [],
    ),
  );
}

describe('redact', () => {
  it('redact leaves the markup around a value as it is, in any quotes', () => {
    const value = 'c3f81d5b0a9e4476b2d7c1f7';
    for (const quote of ['"', "'", '']) {
      const field = (text: string): string => `<input name=csrf_token value=${quote}${text}${quote} id=a><a href=${quote}/b${quote}>c</a>`;
      const [{ html } = assert.fail()] = redact(capture({ pages: [page({ html: field(value) })] })).capture.pages;
      assert.equal(html, field('{{csrf_token_1}}'));
    }
    for (const html of [
      '<textarea name=api_key>' + value + '</textarea><b>c</b>',
      `<meta name="csrf-token" content='${value}'/><b id="c">`,
    ]) {
      const [shown = assert.fail()] = redact(capture({ pages: [page({ html })] })).capture.pages;
      assert.equal(shown.html.replace(/\{\{\w+\}\}/, value), html);
    }
  });

  for (const seed of [1, 2, 3])
    it(`redact leaves no secret of 200 that stand once, with seed ${seed}`, () => {
      const { capture: dirty, planted } = plantSecrets(seed, 200);
      assert.equal(leaksOf(JSON.stringify(dirty), planted).length > 150, true);
      assert.deepEqual(leaksOf(JSON.stringify(redact(dirty)), planted), []);
    });

  it('redact leaves no secret that also stands everywhere else, in every encoding', () => {
    const { capture: dirty, planted } = plantSecrets(7, 200);
    const output = JSON.stringify(redact(echoEverywhere(dirty, planted)));
    assert.deepEqual(leaksOf(output, planted), []);
  });

  it('redact keeps ordinary values', () => {
    const urls = [
      'https://shop.test/assets/app.3f2a9c1b8d.js',
      'https://shop.test/assets/index-BkT9x2Qa.css',
      'https://shop.test/products/the-quick-brown-fox-2024?page=2&sort=price_asc&cursor=eyJpZCI6MTB9&currency=EUR',
      'https://shop.test/orders/7c9e6679-7425-40de-944b-e07fc1f90ae7/items/42',
      'https://shop.test/u/507f1f77bcf86cd799439011?after=WyIyMDI2Il0&next_page_token=CAUQAA&v=20260101',
      'https://shop.test/p/01HV6Z3J8K9QW2E4R5T6Y7U8I9',
      'https://shop.test/img@2x.png?w=300&h=200&code=SUMMER26&zip=10115&state=CA',
    ];
    const body = {
      id: 'prod_8812',
      sku: 'SKU-2231-B',
      price: 1299,
      name: 'Blue shirt',
      created_at: '2026-01-01T00:00:00Z',
      token_type: 'Bearer',
      sha256Hash: 'ecf4edb46db40b5132295c0291d62fb65d6759a9eedfa4d5d612dd5ec54a6b38',
      etag: 'W/"33a64df551425fcc55e4d42a148795d9f25f89d4"',
      next_cursor: 'eyJpZCI6MTB9',
      author: 'Ann Lee',
      status: 'token expired',
      count: 1767225600000,
      description: 'Password reset in 2 minutes',
    };
    const entries = urls.map((url) =>
      entry(url, { type: 'fetch', reply: JSON.stringify(body), headers: { 'x-request-id': '4bf92f3577b34da6a3ce929d0e0e4736' } }),
    );
    const clean = redact(
      capture({ pages: [page({ html: '<p>Password</p><label>E-mail</label><input name="password" type="password">' })] }, entries),
    );
    assert.deepEqual(clean.secrets, []);
    assert.deepEqual(
      clean.capture.har.log.entries.map(({ request }) => request.url),
      urls,
    );
    assert.equal(clean.capture.har.log.entries[0]?.response.content.text, JSON.stringify(body));
  });

  it('redact has one placeholder for one value, wherever it stands, and states where', () => {
    const token = 'k3JdP0aLx8Zt5Qw1Yv7Ub2';
    const { capture: clean, secrets } = redact(
      capture({}, [
        entry('https://shop.test/login', { type: 'fetch', reply: `{"access_token":"${token}"}` }),
        entry('https://api.shop.test/me', { type: 'fetch', headers: { authorization: `Bearer ${token}` } }),
      ]),
    );
    assert.equal(clean.har.log.entries[0]?.response.content.text, '{"access_token":"{{token_1}}"}');
    assert.equal(clean.har.log.entries[1]?.request.headers[0]?.value, 'Bearer {{token_1}}');
    assert.deepEqual(secrets, [
      {
        placeholder: '{{token_1}}',
        kind: 'token',
        length: token.length,
        jwt: null,
        locations: [
          { position: 'response_body', entryIndex: 0, name: 'access_token' },
          { position: 'request_header', entryIndex: 1, name: 'authorization' },
        ],
      },
    ]);
  });

  it('redact states of a JWT its algorithm, issuer, audience, names of claims and times', () => {
    const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
    const jwt = `${part({ alg: 'RS256' })}.${part({ iss: 'https://id.shop.test', aud: 'shop', sub: '1', iat: 5, exp: 65 })}.c2ln`;
    const [secret] = redact(capture({}, [entry('https://shop.test/', { headers: { cookie: `t=${jwt}` } })])).secrets;
    assert.equal(secret?.kind, 'jwt');
    assert.deepEqual(secret.jwt, {
      alg: 'RS256',
      iss: 'https://id.shop.test',
      aud: ['shop'],
      claimNames: ['iss', 'aud', 'sub', 'iat', 'exp'],
      issuedAt: 5,
      expiresAt: 65,
    });
  });

  it('redact replaces a short password where it stands, and no word elsewhere', () => {
    const { capture: clean } = redact(
      capture({}, [
        entry('https://shop.test/login', {
          type: 'fetch',
          method: 'POST',
          body: '{"user":"demo","password":"demo"}',
          reply: '{"name":"demo"}',
        }),
      ]),
    );
    assert.equal(clean.har.log.entries[0]?.request.postData?.text, '{"user":"demo","password":"{{password_1}}"}');
    assert.equal(clean.har.log.entries[0]?.response.content.text, '{"name":"demo"}');
  });

  it('redact keeps JSON valid where the secret is a number', () => {
    const { capture: clean } = redact(
      capture({}, [entry('https://shop.test/pay', { type: 'fetch', body: '{"card":4242424242424242,"otp":123456}' })]),
    );
    assert.deepEqual(JSON.parse(clean.har.log.entries[0]?.request.postData?.text ?? ''), { card: 0, otp: 0 });
  });

  it('redact shows no value of a cookie, even a plain one', () => {
    const cookies = [
      {
        name: 'theme',
        value: 'dark',
        domain: 'shop.test',
        path: '/',
        expires: null,
        httpOnly: false,
        secure: false,
        sameSite: null,
        isPartitioned: false,
      },
    ];
    const { capture: clean } = redact(capture({ cookies }, [entry('https://shop.test/dark', { headers: { cookie: 'theme=dark' } })]));
    assert.equal(clean.cookies[0]?.value, '{{cookie_1}}');
    assert.equal(clean.har.log.entries[0]?.request.headers[0]?.value, 'theme={{cookie_1}}');
    assert.equal(clean.har.log.entries[0].request.url, 'https://shop.test/dark');
  });

  it('redact gives the same bytes for the same capture, and leaves the capture as it is', () => {
    const { capture: dirty } = plantSecrets(11, 100);
    const before = JSON.stringify(dirty);
    assert.equal(JSON.stringify(redact(dirty)), JSON.stringify(redact(dirty)));
    assert.equal(JSON.stringify(dirty), before);
  });
});

describe('redact, of hostile captures', () => {
  const text = (reply: string, mimeType = 'application/json'): Capture => capture({}, [entry('https://shop.test/', { reply, mimeType })]);
  const size = 400_000;
  const hostile: Record<string, Capture> = {
    'JSON nested without end': text('['.repeat(size)),
    'JSON with 100,000 keys': text(JSON.stringify(Object.fromEntries(Array.from({ length: 100_000 }, (_, i) => [`key${i}`, i])))),
    'an open string': text(`{"token":"${'\\'.repeat(size)}`),
    'at signs': text('a@'.repeat(size / 2), 'text/plain'),
    'dots and dashes': text('eyJ-.'.repeat(size / 5), 'text/plain'),
    'open tags': text('<input '.repeat(size / 7), 'text/html'),
    'slashes of URLs': text('http://'.repeat(size / 7), 'text/plain'),
    digits: text('4 '.repeat(size / 2), 'text/plain'),
    'schemes without blanks': text('.beareru0020'.repeat(size / 12), 'text/plain'),
    'assignments before dots': text('token='.repeat(size / 12) + '.'.repeat(size / 2), 'text/plain'),
    'assignments before backslashes': text("token='".repeat(size / 14) + '\\'.repeat(size / 2), 'text/plain'),
    'words without end': text('aZ9-'.repeat(size / 4), 'text/plain'),
    'addresses of a style sheet': text('a{b:url('.repeat(size / 8), 'text/css'),
    assignments: text('token='.repeat(size / 6), 'text/plain'),
    'assignments in a string': text(JSON.stringify({ a: 'token='.repeat(size / 6) })),
    'names with half a name of a secret': text('sourceMappingURL='.repeat(size / 17), 'text/plain'),
    'secrets in a string with an escape': text(
      JSON.stringify({ a: `\n${Array.from({ length: 40_000 }, (_, i) => `a${i}@b.example`).join(' ')}` }),
    ),
    'passwords in a string with an escape': text(
      JSON.stringify({ a: Array.from({ length: 30_000 }, (_, i) => `password="x${i}Ya"`).join('\n') }),
    ),
    pem: text('-----BEGIN PRIVATE KEY '.repeat(size / 23), 'text/plain'),
    'letters of IBANs': text('DE00AAAA'.repeat(size / 8), 'text/plain'),
    pairs: text('a=b&'.repeat(size / 4), 'application/x-www-form-urlencoded'),
    parts: text('--b\r\n'.repeat(size / 5), 'multipart/form-data'),
    'cookies that begin alike': capture({}, [
      entry('https://shop.test/', {
        headers: { cookie: Array.from({ length: 5000 }, (_, i) => `c${i}=${'aA1'.repeat(20)}${i}x`).join('; ') },
      }),
      entry('https://shop.test/', { reply: 'aA1'.repeat(size / 3), mimeType: 'text/plain' }),
    ]),
  };
  for (const [name, dirty] of Object.entries(hostile))
    it(`redact takes linear time for ${name}`, async () => {
      const yardsticks = await yardsticksOf(() => redact(dirty));
      assert.ok(yardsticks < 300, `${yardsticks} yardsticks`);
    });

  it('redact reads keys named __proto__ as keys', () => {
    const { capture: clean } = redact(text('{"__proto__":{"password":"hunter22"},"constructor":1}'));
    assert.equal(clean.har.log.entries[0]?.response.content.text, '{"__proto__":{"password":"{{password_1}}"},"constructor":1}');
  });
});
