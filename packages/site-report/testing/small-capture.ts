/** A small shop, captured with its sign-in: the input of the golden file and of the report's page. */
import { cookie, entry, page, secret, startTime, type inputOf } from './captures.ts';

const shop = 'https://shop.test';
const words = 'Fresh bread from the quay, every morning. ';

const html = `<!doctype html><html lang="en"><head><title>Quay Street Bakery</title><meta name="description" content="Bread">
<meta name="csrf-token" content="{{csrf_token_1}}"><meta name="generator" content="Hugo 0.140"><link rel="stylesheet" href="/site.css">
<link rel="preload" as="font" href="/fonts/quay.woff2"><script src="/app.js"></script><script async src="https://www.googletagmanager.com/gtag/js"></script>
<script type="application/ld+json">{"@type":"Bakery"}</script></head><body><main id="shop"><h1>Bread</h1>
<ul>${Array.from({ length: 6 }, (_, i) => `<li class="loaf"><a href="/loaf/${i}">${words}</a></li>`).join('')}</ul>
<a rel="next" href="/?page=2">Next</a></main><form method="post" action="/login" id="login"><input type="hidden" name="csrf" value="{{csrf_token_1}}">
<input name="email" type="email" autocomplete="username"><input name="password" type="password" autocomplete="current-password"><button>Log in</button></form>
<a href="/auth/github">Sign in with GitHub</a><a href="/logout">Log out</a><img src="/loaf.jpg"></body></html>`;

const bearer = { authorization: 'Bearer {{jwt_1}}', cookie: 'sid={{cookie_1}}' };
const items = JSON.stringify({
  items: Array.from({ length: 12 }, (_, id) => ({ id, name: `Loaf ${id}`, price: 3.5 })),
  next_cursor: 'abc',
});

const entries = () => [
  entry('http://shop.test/', { status: 301, replyHeaders: { location: `${shop}/` } }),
  entry(`${shop}/`, {
    ...{ reply: html, startMs: 30, durationMs: 180, transferBytes: 1400, bytes: html.length },
    replyHeaders: {
      server: 'nginx/1.27.1',
      'content-encoding': 'br',
      'set-cookie': 'sid={{cookie_1}}; Path=/; HttpOnly; Secure; SameSite=Lax',
      'content-security-policy': "default-src 'self' 'unsafe-inline'",
    },
    fields: {
      serverIPAddress: '192.0.2.10',
      _priority: 'VeryHigh',
      _securityDetails: { protocol: 'TLS 1.3', issuer: 'Harbour CA', validTo: startTime / 1000 + 86_400 * 60, sanCount: 2 },
    },
  }),
  entry(`${shop}/site.css`, { type: 'stylesheet', startMs: 215, durationMs: 90, transferBytes: 9000, bytes: 9000, fields: parsed('High') }),
  entry(`${shop}/app.js`, {
    type: 'script',
    startMs: 216,
    durationMs: 240,
    transferBytes: 64_000,
    bytes: 210_000,
    replyHeaders: { 'content-encoding': 'br', 'cache-control': 'max-age=600' },
    fields: parsed('High'),
  }),
  entry(`${shop}/fonts/quay.woff2`, {
    type: 'font',
    startMs: 220,
    durationMs: 70,
    transferBytes: 21_000,
    bytes: 21_000,
    fields: parsed('High'),
  }),
  entry(`${shop}/loaf.jpg`, {
    type: 'image',
    startMs: 320,
    durationMs: 300,
    transferBytes: 180_000,
    bytes: 180_000,
    mimeType: 'image/jpeg',
  }),
  entry('https://www.googletagmanager.com/gtag/js', {
    type: 'script',
    startMs: 330,
    durationMs: 120,
    transferBytes: 90_000,
    bytes: 260_000,
    replyHeaders: { 'content-encoding': 'gzip' },
  }),
  entry(`${shop}/api/me`, { type: 'fetch', status: 401, startMs: 480, reply: '{"error":"unauthorized"}' }),
  entry(`${shop}/api/login`, {
    type: 'fetch',
    method: 'POST',
    startMs: 900,
    durationMs: 80,
    body: '{"email":"{{email_1}}","password":"{{password_1}}"}',
    reply: '{"access_token":"{{jwt_1}}","expires_in":900}',
  }),
  entry('https://api.shop.test/loaves?page=1', {
    type: 'fetch',
    startMs: 1000,
    durationMs: 60,
    headers: bearer,
    reply: items,
    fields: { _initiator: { type: 'script', stack: { callFrames: [{ url: `${shop}/app.js` }] } } },
  }),
  entry('https://api.shop.test/orders', {
    type: 'fetch',
    method: 'POST',
    status: 500,
    startMs: 1100,
    durationMs: 30,
    headers: { ...bearer, 'x-csrf-token': '{{csrf_token_1}}' },
    body: '{"loaf":1}',
    reply: '{}',
  }),
  entry(`${shop}/gone.png`, {
    type: 'image',
    status: 0,
    startMs: 1200,
    durationMs: 5,
    mimeType: '',
    fields: { _error: 'net::ERR_CONNECTION_RESET' },
  }),
];

const parsed = (priority: string) => ({ _priority: priority, _initiator: { type: 'parser', url: `${shop}/` } });

export function smallCapture(): Parameters<typeof inputOf>[0] {
  return {
    url: 'http://shop.test/',
    entries: entries(),
    pages: [
      page({
        ...{ title: 'Quay Street Bakery', html, textChars: 300, globals: ['Sentry'] },
        vitals: {
          ttfbMs: 140,
          domContentLoadedMs: 420,
          loadMs: 700,
          fcpMs: 480,
          lcpMs: 2900,
          lcpElement: 'main > img',
          cls: 0.02,
          tbtMs: 60,
        },
        localStorage: [{ key: 'token', value: '{{jwt_1}}' }],
        coverage: [
          { url: `${shop}/app.js`, type: 'js', totalBytes: 210_000, usedBytes: 60_000, scriptMs: 80 },
          { url: 'https://www.googletagmanager.com/gtag/js', type: 'js', totalBytes: 10_000, usedBytes: 10_000, scriptMs: 45 },
        ],
        images: [{ url: `${shop}/loaf.jpg`, naturalWidth: 2000, naturalHeight: 1500, width: 400, height: 300 }],
        consoleErrors: [{ text: 'Failed to load resource: 500', url: 'https://api.shop.test/orders', line: null }],
      }),
    ],
    cookies: [
      cookie('sid', { value: '{{cookie_1}}' }),
      cookie('_ga', { value: '{{cookie_2}}', domain: '.shop.test', httpOnly: false, expires: startTime / 1000 + 63_072_000 }),
    ],
    probes: [
      {
        path: '/robots.txt',
        statusCode: 200,
        contentType: 'text/plain',
        body: 'User-agent: *\nDisallow: /admin\nSitemap: https://shop.test/sitemap.xml\n',
      },
    ],
    secrets: [
      secret('{{cookie_1}}', { kind: 'cookie', at: ['set_cookie 1 sid', 'request_cookie 9 sid'] }),
      secret('{{csrf_token_1}}', { kind: 'csrf_token', at: ['page_html - csrf-token', 'request_header 10 x-csrf-token'] }),
      secret('{{password_1}}', { kind: 'password', at: ['request_body 8 password'] }),
      secret('{{jwt_1}}', {
        kind: 'jwt',
        jwt: { alg: 'RS256', iss: shop, aud: ['shop'], claimNames: ['aud', 'exp', 'iss', 'sub'], expiresAt: startTime / 1000 + 901 },
        at: ['response_body 8 access_token', 'request_header 9 authorization', 'local_storage - token'],
      }),
    ],
  };
}
