import { article, block, json, lookalike, page, type Exchange } from './exchange.ts';

export const impervaAndAws: readonly Exchange[] = [
  block('imperva', 'bot_wall', 'incident frame with status 200', {
    status: 200,
    headers: { 'x-iinfo': '9-1-0 NNNN', 'set-cookie': ['visid_incap_100=notarealvalue; path=/', 'incap_ses_7_100=notarealvalue; path=/'] },
    body: '<html><head><META NAME="ROBOTS" CONTENT="NOINDEX, NOFOLLOW"></head><body><iframe id="main-iframe" src="/_Incapsula_Resource?SWUDNSAI=9&xinfo=1&incident_id=7" frameborder="0">Request unsuccessful. Incapsula incident ID: 7000100-1</iframe></body></html>',
  }),
  block('imperva', 'bot_wall', 'incident in words', {
    body: page('Error', '<p>Request unsuccessful. Incapsula incident ID: 7000100-12345</p>'),
  }),
  block('imperva', 'bot_wall', 'incident in words with status 200', {
    status: 200,
    body: '<html><body>Request unsuccessful. Incapsula incident ID: 7000100-12345</body></html>',
  }),
  block('imperva', 'access_denied', 'small refusal with its header', {
    headers: { 'x-iinfo': '9-1-0 NNNN' },
    body: page('Error', '<p>This is not for you.</p>'),
  }),
  block('imperva', 'access_denied', 'small refusal with its cookies', {
    headers: { 'set-cookie': ['visid_incap_100=notarealvalue; path=/', 'incap_ses_7_100=notarealvalue; path=/'] },
    body: page('Error', '<p>This is not for you.</p>'),
  }),
  block('imperva', 'challenge', 'script and nothing else on a refusal', {
    body: '<html><body><script src="/_Incapsula_Resource?SWJIYLWA=1"></script></body></html>',
  }),
  block('aws_waf', 'challenge', 'silent challenge', {
    status: 202,
    headers: { 'x-amzn-waf-action': 'challenge', server: 'CloudFront' },
    body: page(
      '',
      '<div id="challenge-container"></div><noscript>Scripts are needed.</noscript>',
      `<script>window.awsWafCookieDomainList = [];window.gokuProps = {"key":"x"};</script><script src="https://a1b2.eu-west-1.token.awswaf.com/a1b2/challenge.js"></script>\n`,
    ),
  }),
  block('aws_waf', 'captcha', 'puzzle', {
    status: 405,
    headers: { 'x-amzn-waf-action': 'captcha' },
    captcha: 'aws_waf',
    body: page(
      'Human Verification',
      '<div id="captcha-container"></div>',
      '<script src="https://a1b2.token.awswaf.com/a1b2/captcha.js"></script>\n',
    ),
  }),
  block('aws_waf', 'challenge', 'challenge script on a refusal', {
    body: page('', '<script src="https://a1b2.eu-west-1.token.awswaf.com/a1b2/challenge.js"></script>'),
  }),
  block('aws_waf', 'access_denied', 'refused call', {
    ...json({ message: 'Forbidden' }),
    headers: { 'content-type': 'application/json', 'x-amzn-errortype': 'ForbiddenException' },
  }),
  block('aws_waf', 'access_denied', 'request blocked at the edge', {
    headers: { server: 'CloudFront', 'x-cache': 'Error from cloudfront' },
    body: '<html><head><title>ERROR: The request could not be satisfied</title></head><body><h1>403 ERROR</h1><h2>The request could not be satisfied.</h2><hr>Request blocked. Nothing came of it.</body></html>',
  }),
  block('aws_waf', 'geo_blocked', 'country refused at the edge', {
    headers: { server: 'CloudFront' },
    body: '<html><body><h1>403 ERROR</h1><p>The Amazon CloudFront distribution is configured to block access from your country.</p></body></html>',
  }),
  lookalike('article about Imperva that quotes its incident', {
    body: page(
      'Incapsula incidents',
      `${article('incident numbers')}<blockquote>Request unsuccessful. Incapsula incident ID: 7000100-1</blockquote><code>&lt;iframe src="/_Incapsula_Resource?x"&gt;</code>`,
    ),
  }),
  lookalike('ordinary page with the script of Imperva', {
    headers: { 'x-iinfo': '9-1-0 NNNN', 'set-cookie': 'visid_incap_100=notarealvalue; path=/' },
    body: page(
      'Boats',
      `<p>${'Three boats for sale, all of them dry. '.repeat(4)}</p><script src="/_Incapsula_Resource?SWJIYLWA=1" async></script>`,
    ),
  }),
  lookalike('page with nothing but the script of Imperva', {
    warning: 'challenge:imperva',
    body: '<html><body><script src="/_Incapsula_Resource?SWJIYLWA=1"></script></body></html>',
  }),
  lookalike('ordinary page with the script of AWS WAF', {
    body: page(
      'Boats',
      '<p>Three boats for sale. The office is open from nine to five, and on Sundays somebody comes by at noon to look after the ropes.</p><script src="https://a1b2.eu-west-1.token.awswaf.com/a1b2/challenge.js" defer></script>',
    ),
  }),
  lookalike('call without a signature', {
    ...json({ message: 'Missing Authentication Token' }),
    status: 403,
    headers: { 'content-type': 'application/json', 'x-amzn-errortype': 'MissingAuthenticationTokenException' },
  }),
  lookalike('private object in a bucket', {
    status: 403,
    headers: { 'content-type': 'application/xml', server: 'AmazonS3' },
    body: '<?xml version="1.0"?><Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>',
  }),
  lookalike('order that was taken and not yet done', {
    status: 202,
    body: page('Order taken', '<p>Your order is being worked on. This page says when it is done.</p>'),
  }),
];
