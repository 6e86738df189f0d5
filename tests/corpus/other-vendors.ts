import { article, block, lookalike, page, type Exchange } from './exchange.ts';

export const otherVendors: readonly Exchange[] = [
  block('kasada', 'rate_limited', 'first answer', {
    status: 429,
    headers: { 'x-kpsdk-ct': 'notarealvalue' },
    body: '<html><head></head><body><script>window.KPSDK={};KPSDK.now=Date.now;KPSDK.scriptStart=KPSDK.now();</script><script src="/149e/ips.js?x-kpsdk-v=1"></script></body></html>',
  }),
  block('kasada', 'challenge', 'script on a refusal', {
    body: '<html><body><script>window.KPSDK={};KPSDK.scriptStart = 1;</script></body></html>',
  }),
  block('sucuri', 'access_denied', 'block by header', {
    headers: { 'x-sucuri-block': 'XSS', server: 'Sucuri/Cloudproxy' },
    body: page('No', '<p>Stopped.</p>'),
  }),
  block('sucuri', 'access_denied', 'firewall page', {
    headers: { server: 'Sucuri/Cloudproxy' },
    body: page(
      'Sucuri WebSite Firewall - Access Denied',
      '<h1>Access Denied - Sucuri Website Firewall</h1><p>Write to the owner of the site.</p>',
    ),
  }),
  block('sucuri', 'challenge', 'script challenge', {
    status: 200,
    headers: { server: 'Sucuri/Cloudproxy' },
    body: page('Wait', '<p>Wait.</p>', `<script>sucuri_cloudproxy_js = '', S = 'x';location.reload;</script>\n`),
  }),
  block('sucuri', 'access_denied', 'small refusal from its server', {
    headers: { server: 'Sucuri/Cloudproxy' },
    body: page('No', '<p>Not here.</p>'),
  }),
  block('f5', 'access_denied', 'rejected request with status 200', {
    status: 200,
    headers: { 'set-cookie': 'TS01ab23cd=notarealvalue; Path=/' },
    body: '<html><head><title>Request Rejected</title></head><body>The requested URL was rejected. Please consult with your administrator.<br><br>Your support ID is: 1234567890<br><br><a href="javascript:history.back();">[Go Back]</a></body></html>',
  }),
  block('f5', 'access_denied', 'small refusal with its cookie', {
    headers: { 'set-cookie': 'TS01ab23cd=notarealvalue; Path=/' },
    body: page('No', '<p>Not here.</p>'),
  }),
  block('ddos_guard', 'challenge', 'check by title', {
    headers: { server: 'ddos-guard' },
    body: page('DDoS-Guard', '<p>The visitor is looked at.</p>'),
  }),
  block('ddos_guard', 'challenge', 'check by script', {
    headers: { server: 'ddos-guard' },
    body: page('Wait', '<p>Wait.</p><script src="/.well-known/ddos-guard/js-challenge/index.js"></script>'),
  }),
  block('reblaze', 'challenge', 'script challenge', {
    status: 200,
    body: '<html><head><script>window.rbzns = {seed: "x"};</script></head><body></body></html>',
  }),
  block('reblaze', 'challenge', 'small refusal with its cookie', {
    status: 503,
    headers: { 'set-cookie': 'rbzid=notarealvalue; path=/' },
    body: page('', '<p>Wait.</p>'),
  }),
  lookalike('article about bot walls that quotes many of them', {
    body: page(
      'A field guide to bot walls',
      `${article('bot walls')}<p>F5 says “The requested URL was rejected. Please consult with your administrator. Your support ID is: 1”, Sucuri names its WebSite Firewall,
DDoS-Guard has a title, Kasada sets KPSDK.scriptStart, Reblaze window.rbzns. Some shops are blocked by network security.</p>`,
    ),
  }),
  lookalike('ordinary page behind Sucuri', {
    headers: { server: 'Sucuri/Cloudproxy' },
    body: page('Hours', '<p>Open from nine to five.</p>'),
  }),
  lookalike('ordinary page behind DDoS-Guard', {
    headers: { server: 'ddos-guard', 'set-cookie': '__ddg1_=notarealvalue; path=/' },
    body: page('About DDoS-Guard', '<p>We compare three providers.</p>'),
  }),
  lookalike('ordinary page behind F5', {
    headers: { 'set-cookie': 'TS01ab23cd=notarealvalue; Path=/' },
    body: page('Hours', '<p>Open from nine to five.</p>'),
  }),
  lookalike('ordinary page that Reblaze let in', {
    headers: { 'set-cookie': 'rbzid=notarealvalue; path=/' },
    body: page('Hours', '<p>Open from nine to five.</p>'),
  }),
];
