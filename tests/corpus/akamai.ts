import { article, block, json, lookalike, page, type Exchange } from './exchange.ts';

const sensorCookies = ['_abck=notarealvalue~-1~; path=/', 'bm_sz=notarealvalue; path=/'];

export const akamai: readonly Exchange[] = [
  block('akamai', 'access_denied', 'edge denial', {
    headers: { server: 'AkamaiGHost', 'content-type': 'text/html' },
    body: '<HTML><HEAD>\n<TITLE>Access Denied</TITLE>\n</HEAD><BODY>\n<H1>Access Denied</H1>\n<P>This server will not show you "http&#58;&#47;&#47;harbour&#46;example&#47;list".</P>\nReference&#32;&#35;18&#46;2d351ab8&#46;1557333295&#46;a4e16ab\n</BODY></HTML>',
  }),
  block('akamai', 'access_denied', 'denial by its reference', {
    body: '<html><head><title>Access Denied</title></head><body><h1>Access Denied</h1><p>Not for you.</p>Reference #9.44f31702.1700000000.1b2c3d4e</body></html>',
  }),
  block('akamai', 'access_denied', 'denial of data by the edge', {
    ...json({ error: 'denied' }),
    headers: { server: 'AkamaiGHost', 'content-type': 'application/json' },
  }),
  block('akamai', 'bot_wall', 'interruption', {
    status: 405,
    body: page(
      'Pardon Our Interruption',
      '<h1>Pardon Our Interruption...</h1><p>As you were reading, something about your reader made us stop.</p>',
    ),
  }),
  block('akamai', 'access_denied', 'small refusal with sensor cookies', {
    headers: { 'set-cookie': sensorCookies },
    body: page('No', '<p>You cannot see this.</p>'),
  }),
  block('akamai', 'challenge', 'arithmetic challenge', {
    status: 428,
    headers: { 'set-cookie': 'sec_cpt=notarealvalue; path=/' },
    body: page('Wait', '<div id="sec-if-cpt-container"><p>Your browser has a sum to do.</p></div>'),
  }),
  lookalike('article about Akamai that quotes its denial', {
    body: page(
      'Reading an Akamai denial',
      `<h1>Access Denied, and what then</h1>${article('edge denials')}<p>It ends with a line such as Reference #18.2d351ab8.1557333295.a4e16ab, and the server is AkamaiGHost.</p>`,
    ),
  }),
  lookalike('short question that quotes an Akamai denial', {
    body: page('Question 881', '<p>What does Access Denied with Reference #18.2d351ab8.1557333295.a4e16ab mean?</p><p>No answers yet.</p>'),
  }),
  lookalike('ordinary page with sensor cookies', {
    headers: { 'set-cookie': sensorCookies },
    body: page('Boats', '<p>Three boats for sale.</p>'),
  }),
  lookalike('data refused by the application behind sensor cookies', {
    ...json({ error: 'forbidden', message: 'This key may not list boats.' }),
    status: 403,
    headers: { 'content-type': 'application/json', 'set-cookie': sensorCookies },
  }),
  lookalike('edge that cannot reach its origin', {
    status: 503,
    headers: { server: 'AkamaiGHost', 'retry-after': '60' },
    body: '<HTML><HEAD><TITLE>Service Unavailable</TITLE></HEAD><BODY><H1>Service Unavailable</H1>The origin has no address.</BODY></HTML>',
  }),
  lookalike('bad address at the edge', {
    status: 400,
    headers: { server: 'AkamaiGHost' },
    body: '<HTML><HEAD><TITLE>Invalid URL</TITLE></HEAD><BODY><H1>Invalid URL</H1>The address cannot be read.</BODY></HTML>',
  }),
];
