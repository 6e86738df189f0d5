import { article, block, lookalike, page, type Exchange } from './exchange.ts';

const edge = { server: 'cloudflare', 'cf-ray': '8f00aa11bb22cc33-FRA' };
const cookie = '__cf_bm=notarealvalue; path=/; HttpOnly; Secure';

export const cloudflare: readonly Exchange[] = [
  block('cloudflare', 'challenge', 'managed challenge by header', {
    headers: { ...edge, 'cf-mitigated': 'challenge', 'set-cookie': cookie },
    body: page(
      'Just a moment...',
      '<h1>harbour.example</h1><p>A check is under way.</p><noscript>Scripts are needed here.</noscript>',
      `<script>(function(){window._cf_chl_opt = {cvId: '3', cZone: 'harbour.example'};var a = document.createElement('script');a.src = '/cdn-cgi/challenge-platform/h/b/orchestrate/chl_page/v1?ray=8f00aa11bb22cc33';document.head.appendChild(a);}());</script>\n`,
    ),
  }),
  block('cloudflare', 'challenge', 'challenge by its options only', {
    headers: edge,
    body: page('One moment', '<p>Wait for the check.</p>', `<script>window._cf_chl_opt={cType: 'managed'};</script>\n`),
  }),
  block('cloudflare', 'challenge', 'older challenge form with status 503', {
    status: 503,
    headers: { ...edge, 'retry-after': '20' },
    body: page(
      'Wait please',
      `<form id="challenge-form" action="/list?__cf_chl_f_tk=abc.def-0" method="POST"><input type="hidden" name="md" value="x"></form>`,
    ),
  }),
  block('cloudflare', 'challenge', 'challenge script by address', {
    headers: edge,
    body: page('Wait', '<p>One moment.</p>', '<script src="/cdn-cgi/challenge-platform/h/g/orchestrate/jsch/v1?ray=1"></script>\n'),
  }),
  block('cloudflare', 'challenge', 'running challenge element', {
    status: 503,
    headers: edge,
    body: page('Wait', '<div id="cf-please-wait"><p>Looking at the visitor.</p></div>'),
  }),
  block('cloudflare', 'challenge', 'running challenge with its script', {
    status: 503,
    headers: edge,
    body: page('Wait', '<div id="cf-challenge-running"></div><img id="trk_jschal_js" alt="">'),
  }),
  block('cloudflare', 'challenge', 'words of the oldest challenge', {
    status: 503,
    headers: edge,
    body: page('harbour.example', '<p>Checking your browser before accessing harbour.example.</p>'),
  }),
  block('cloudflare', 'challenge', 'title and nothing else', { headers: edge, body: page('Just a moment...', '<p>Wait.</p>') }),
  block('cloudflare', 'access_denied', 'firewall error 1020', {
    headers: edge,
    body: page(
      'Access denied',
      '<div id="cf-wrapper"><h1><span>Error</span> <span class="cf-error-code">1020</span></h1><p>The owner of the site keeps you out.</p></div>',
    ),
  }),
  block('cloudflare', 'access_denied', 'firewall page with details', {
    headers: edge,
    body: page(
      'Attention Required! | Cloudflare',
      `<div id="cf-error-details" class="cf-error-details-wrapper"><h1>You may not pass</h1><span class="cf-code-label">1006</span><p>harbour.example has a guard. ${'What you did looked odd to it. '.repeat(30)}</p></div>`,
    ),
  }),
  block('cloudflare', 'access_denied', 'error code in plain words', {
    headers: { ...edge, 'content-type': 'text/plain; charset=UTF-8' },
    body: 'error code: 1020',
  }),
  block('cloudflare', 'geo_blocked', 'country ban 1009', {
    headers: edge,
    body: page(
      'Access denied',
      '<h1>Error 1009</h1><p>The owner of this website (harbour.example) has banned the country or region your IP address is in.</p>',
    ),
  }),
  block('cloudflare', 'rate_limited', 'too many requests 1015', {
    status: 429,
    headers: { ...edge, 'retry-after': '30' },
    body: page('Slow down', '<h1>Error <span class="cf-error-code">1015</span></h1><p>You came too often.</p>'),
  }),
  lookalike('article that quotes the challenge of Cloudflare', {
    headers: { ...edge, 'set-cookie': cookie },
    body: page(
      'How the challenge of Cloudflare works',
      `${article('challenge pages')}
<pre><code>&lt;form id="challenge-form" action="/?__cf_chl_f_tk=…"&gt;
&lt;script src="/cdn-cgi/challenge-platform/h/b/orchestrate/chl_page/v1"&gt;</code></pre>
<p>The header is <code>cf-mitigated: challenge</code>, and the title says “Just a moment...”. <!-- <div id="cf-please-wait"></div> --></p>`,
    ),
  }),
  lookalike('short note that shows a challenge in an unescaped code sample', {
    headers: edge,
    body: page(
      'Note 12',
      `<p>A sample to keep:</p><pre><form id="challenge-form" action="/?__cf_chl_f_tk=1"></form><div id="cf-please-wait"></div><script>window._cf_chl_opt = {};</script></pre>`,
    ),
  }),
  lookalike('missing page behind Cloudflare', {
    status: 404,
    headers: { ...edge, 'set-cookie': cookie },
    body: page('Not found', '<h1>404</h1><p>There is no such page on this server.</p>'),
  }),
  lookalike('missing page with the title of a challenge', { status: 404, headers: edge, body: page('Just a moment...', '<p>Gone.</p>') }),
  lookalike('short page behind Cloudflare', { headers: edge, body: page('Hours', '<p>Open from nine to five.</p>') }),
  lookalike('clearance that is set on the page itself', {
    headers: { ...edge, 'set-cookie': [cookie, 'cf_clearance=notarealvalue; path=/; HttpOnly'] },
    body: page('Welcome back', '<h1>Harbour</h1><p>Three boats are in.</p>'),
  }),
  lookalike('ordinary page with the sensor of Cloudflare', {
    headers: edge,
    body: page(
      'Tides',
      `<p>High water at four. The office is open from nine to five, and on Sundays somebody comes by at noon to look after the ropes.</p><script>(function(){window.__CF$cv$params={r:'1'};var s=document.createElement('script');s.src='/cdn-cgi/challenge-platform/scripts/jsd/main.js';document.head.appendChild(s);})();</script>`,
    ),
  }),
  lookalike('coding challenge with a challenge form', {
    body: page(
      'Exercise 7: reverse a list',
      `<form id="challenge-form" action="/exercises/7"><textarea name="answer"></textarea><button>Send</button></form><div id="challenge-spinner" hidden></div>`,
    ),
  }),
  lookalike('song called Just a moment', {
    body: page('Just a moment – lyrics', '<h1>Just a moment</h1><p>Just a moment, said the sea, and gave the boat to me.</p>'),
  }),
  lookalike('origin that is down behind Cloudflare', {
    status: 521,
    headers: edge,
    body: page(
      'Web server is down',
      '<div id="cf-error-details"><h1>Web server is down</h1><span class="cf-code-label">Error code 521</span></div>',
    ),
  }),
  lookalike('contact form with Turnstile', {
    headers: edge,
    captcha: 'turnstile',
    body: page(
      'Write to us',
      '<form action="/contact"><input name="name"><div id="turnstile-wrapper"><div class="cf-turnstile" data-sitekey="1x0"></div></div><button>Send</button></form>',
      '<script src="https://challenges.cloudflare.com/turnstile/v0/api.js" async defer></script>\n',
    ),
  }),
];
