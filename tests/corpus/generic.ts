import { article, block, json, lookalike, page, type Exchange } from './exchange.ts';

export const generic: readonly Exchange[] = [
  block('generic', 'rate_limited', 'page of status 429', {
    status: 429,
    headers: { 'retry-after': '5' },
    body: page('Slow down', '<p>Too many requests.</p>'),
  }),
  block('generic', 'rate_limited', 'data of status 429', { ...json({ error: 'slow_down' }), status: 429 }),
  block('generic', 'rate_limited', 'long page of status 429', { status: 429, body: page('Slow down', article('patience')) }),
  block('generic', 'geo_blocked', 'legal reasons', { status: 451, body: page('Unavailable', '<p>A court has said no.</p>') }),
  block('generic', 'geo_blocked', 'wrong country', { body: page('Sorry', '<p>This film is not available in your country.</p>') }),
  block('generic', 'access_denied', 'bare refusal of a web server', {
    body: '<html>\n<head><title>403 Forbidden</title></head>\n<body>\n<center><h1>403 Forbidden</h1></center>\n<hr><center>nginx</center>\n</body>\n</html>\n',
  }),
  block('generic', 'access_denied', 'address that is banned', { body: page('Blocked', '<p>Your IP address has been blocked.</p>') }),
  block('generic', 'bot_wall', 'words about robots', {
    status: 503,
    body: page('Sorry', '<p>We saw automated requests from your network. To go on, write to our desk.</p>'),
  }),
  block('generic', 'bot_wall', 'network security', {
    body: page('Blocked', "<p>You've been blocked by network security. Log in or file a ticket.</p>"),
  }),
  block('generic', 'challenge', 'challenge of a hosting platform', {
    status: 403,
    headers: { 'x-vercel-mitigated': 'challenge' },
    body: page('Checkpoint', '<p>Wait.</p>'),
  }),
  block('generic', 'login_wall', 'sign in first', {
    status: 401,
    body: page('Sign in', '<form method="post"><input name="name"><input type="password" name="password"><button>Sign in</button></form>'),
  }),
  lookalike('missing page of 42 characters', { status: 404, body: '<html><body>Nothing here. Try the front page.</body></html>' }),
  lookalike('missing page that speaks of access', {
    status: 404,
    body: page('Access denied', '<p>Access denied or no such page: forbidden.</p>'),
  }),
  lookalike('missing page without a body', { status: 404, body: '' }),
  lookalike('page with status 410', { status: 410, body: page('Gone', '<p>This boat is sold.</p>') }),
  lookalike('application that renders later', {
    warning: 'empty_shell:generic',
    body: page(
      'Harbour',
      '<div id="root"></div><noscript>Scripts are needed to see the harbour and all that lies in it, boats and quays alike.</noscript><script type="module" src="/assets/index.js"></script>',
    ),
  }),
  lookalike('application that was rendered before', {
    body: page(
      'Harbour',
      `<div id="__next"><h1>Boats</h1>${article('boats')}</div><script id="__NEXT_DATA__" type="application/json">{"page":"/"}</script><script src="/_next/main.js"></script>`,
    ),
  }),
  lookalike('data', json({ boats: ['Anna', 'Berta'], note: 'cf-mitigated: challenge' })),
  lookalike('data that says blocked', json({ status: 'blocked', title: 'Just a moment...', html: '<div id="px-captcha"></div>' })),
  lookalike('data refused by the application', {
    ...json({ error: { code: 'permission_denied', message: 'Access denied: you may not see this boat.' } }),
    status: 403,
  }),
  lookalike('data that needs a token', {
    ...json({ error: 'unauthorized' }),
    status: 401,
    headers: { 'content-type': 'application/json', 'www-authenticate': 'Bearer' },
  }),
  lookalike('problem document', {
    status: 403,
    headers: { 'content-type': 'application/problem+json' },
    body: '{"type":"about:blank","title":"Forbidden","status":403}',
  }),
  lookalike('data while down', { ...json({ error: 'maintenance' }), status: 503 }),
  lookalike('image that holds marks', {
    headers: { 'content-type': 'image/png' },
    body: Buffer.concat([
      Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
      Buffer.from('<div id="px-captcha"></div><script>window._cf_chl_opt={}</script>'),
    ]),
  }),
  lookalike('printed report on walls', {
    headers: { 'content-type': 'application/pdf' },
    body: '%PDF-1.7\n(Just a moment...) <form id="challenge-form" action="?__cf_chl_f_tk=1"> Access Denied Reference #18.2d351ab8.1557333295.a4e16ab\n%%EOF',
  }),
  lookalike('page to be saved', {
    headers: { 'content-disposition': 'attachment; filename="wall.html"' },
    body: page('Just a moment...', '<div id="px-captcha"></div>'),
  }),
  lookalike('text file with a wall in it', {
    headers: { 'content-type': 'text/plain' },
    body: '<div id="px-captcha"></div>\n<iframe src="/_Incapsula_Resource?x"></iframe>\n',
  }),
  lookalike('file that is refused', {
    status: 403,
    headers: { 'content-type': 'application/octet-stream' },
    body: Buffer.from([0, 1, 2, 3]),
  }),
  lookalike('permission page that explains itself', {
    status: 403,
    warning: 'access_denied:generic',
    body: page(
      'You need access',
      `<nav><a href="/">Projects</a></nav><h1>You need access to this project</h1>${article('access to a project')}<p>Ask its owner, Berta, for an invitation.</p>`,
    ),
  }),
  lookalike('permission page without the words of a wall', {
    status: 403,
    warning: 'access_denied:generic',
    body: page('Project', '<p>This project is private. Ask its owner for an invitation.</p>'),
  }),
  lookalike('large permission page', {
    status: 403,
    body: page('You need access', `<h1>You need access</h1>${article('access').repeat(9)}`),
  }),
  lookalike('maintenance that says when it ends', {
    status: 503,
    headers: { 'retry-after': '3600' },
    body: page('Maintenance', '<h1>We are painting the boats</h1><p>Back at noon.</p>'),
  }),
  lookalike('maintenance that does not say when it ends', {
    status: 503,
    warning: 'unknown:generic',
    body: page('Maintenance', '<h1>We are painting the boats</h1>'),
  }),
  lookalike('long maintenance page', { status: 503, body: page('Maintenance', `<h1>We are painting the boats</h1>${article('paint')}`) }),
  lookalike('failure of the application', {
    status: 500,
    body: page('Error', '<h1>Something broke</h1><p>Access to the ledger failed. We were notified.</p>'),
  }),
  lookalike('failure of the application with the title of a wall', {
    status: 500,
    warning: 'challenge:cloudflare',
    body: page('Just a moment...', '<p>Something broke.</p>'),
  }),
  lookalike('bad gateway', {
    status: 502,
    body: '<html><head><title>502 Bad Gateway</title></head><body><center><h1>502 Bad Gateway</h1></center><hr><center>nginx</center></body></html>',
  }),
  lookalike('page with a cookie banner', {
    body: page(
      'Boats',
      '<div id="cookie-consent" role="dialog"><p>We use cookies. <button>Accept all</button><button>Reject</button></p></div><h1>Boats</h1><p>Three boats for sale.</p>',
    ),
  }),
  lookalike('page behind a paywall', {
    body: page(
      'The harbour in winter',
      '<p>The ice came early.</p><div class="paywall"><p>To read on, subscribe.</p><a href="/subscribe">Subscribe</a></div>',
    ),
  }),
  lookalike('nothing to say', { status: 204, body: '' }),
  lookalike('nothing new', { status: 304, body: '' }),
  lookalike('way to the login', { status: 302, headers: { location: '/login' }, body: '<a href="/login">Found</a>' }),
  lookalike('search results about denied access', {
    body: page(
      'Access denied - how to fix',
      '<h1>Results for “access denied”</h1><ol><li>Access denied on my own site</li><li>403 Forbidden, what now?</li><li>Access to this page has been denied</li></ol>',
    ),
  }),
  lookalike('news of blocked ships', {
    body: page('Canal blocked', '<p>You are blocked if your ship is at the third gate. Access denied to all, says the pilot.</p>'),
  }),
  lookalike('login page', {
    body: page('Sign in', '<form method="post"><input name="name"><input type="password" name="password"><button>Sign in</button></form>'),
  }),
  lookalike('answer of a health check', { body: 'ok' }),
  lookalike('method that is not allowed', {
    status: 405,
    headers: { allow: 'POST' },
    body: page('Method not allowed', '<p>Use POST.</p>'),
  }),
];
