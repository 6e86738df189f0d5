import { article, block, json, lookalike, page, type Exchange } from './exchange.ts';

const datadomeCookie = 'datadome=notarealvalue; Max-Age=31536000; Path=/';

export const datadomeAndHuman: readonly Exchange[] = [
  block('datadome', 'captcha', 'captcha page', {
    headers: { 'x-datadome': 'protected', 'x-dd-b': '1', 'set-cookie': datadomeCookie },
    captcha: 'datadome',
    body: page(
      'harbour.example',
      `<p>Please show that you are a person.</p><script>var dd={'rt':'c','host':'geo.captcha-delivery.com'}</script><script src="https://ct.captcha-delivery.com/c.js"></script>`,
    ),
  }),
  block('datadome', 'challenge', 'device check', {
    body: page('harbour.example', `<script>var dd={'rt':'i'}</script><script src="https://ct.captcha-delivery.com/i.js"></script>`),
  }),
  block('datadome', 'captcha', 'captcha frame with status 200', {
    status: 200,
    captcha: 'datadome',
    body: page(
      'harbour.example',
      '<iframe src="https://geo.captcha-delivery.com/captcha/?initialCid=x&amp;t=fe" width="100%" height="400"></iframe>',
    ),
  }),
  block('datadome', 'bot_wall', 'refused data', {
    ...json({ url: 'https://geo.captcha-delivery.com/captcha/?t=x' }),
    headers: { 'content-type': 'application/json', 'x-datadome': 'protected' },
  }),
  block('datadome', 'bot_wall', 'small refusal with its cookie', {
    headers: { 'set-cookie': datadomeCookie },
    body: page('harbour.example', '<p>Not now.</p>'),
  }),
  block('human', 'captcha', 'press and hold', {
    captcha: 'human',
    body: page(
      'Access to this page has been denied',
      `<h1>Are you a person?</h1><div id="px-captcha"></div><script>window._pxAppId = 'PXharbour1';</script><script src="//captcha.px-cdn.net/PXharbour1/captcha.js"></script>`,
    ),
  }),
  block('human', 'captcha', 'captcha script alone', {
    captcha: 'human',
    body: page('Hold on', '<p>Hold the button.</p><script src="https://captcha.px-cdn.net/PXharbour1/captcha.js?a=c"></script>'),
  }),
  block('human', 'bot_wall', 'application id on a refusal', {
    body: page('No', `<script>window._pxAppId='PXharbour1';window._pxUuid='0';</script>`),
  }),
  block('human', 'bot_wall', 'title only', { body: page('Access to this page has been blocked', '<p>Write to us.</p>') }),
  block('human', 'bot_wall', 'small refusal with its cookie', {
    headers: { 'set-cookie': '_px3=notarealvalue; path=/' },
    body: page('harbour.example', '<p>Not now.</p>'),
  }),
  lookalike('article about DataDome that quotes its page', {
    body: page(
      'What DataDome shows',
      `${article('device checks')}<pre>&lt;script src="https://ct.captcha-delivery.com/c.js"&gt;</pre><p>Look for captcha-delivery.com, for x-dd-b and for window._pxAppId = 'PX…' as HUMAN has it.</p>`,
    ),
  }),
  lookalike('ordinary page of a customer of DataDome', {
    headers: { 'x-datadome': 'protected', 'set-cookie': datadomeCookie },
    body: page(
      'Boats',
      '<p>Three boats for sale. The office is open from nine to five, and on Sundays somebody comes by at noon to look after the ropes.</p><script src="https://js.datadome.co/tags.js" async></script>',
    ),
  }),
  lookalike('ordinary page with the sensor of HUMAN', {
    headers: { 'set-cookie': ['_px3=notarealvalue; path=/', '_pxhd=notarealvalue; path=/'] },
    body: page(
      'Boats',
      `<p>Three boats for sale. The office is open from nine to five, and on Sundays somebody comes by at noon to look after the ropes.</p><script>window._pxAppId = 'PXharbour1';</script><script src="/harbour1/init.js" async></script>`,
    ),
  }),
  lookalike('short page whose description names a captcha frame', {
    body: page(
      'Snippets',
      `<p data-source='<iframe src="https://geo.captcha-delivery.com/captcha/"></iframe><div id="px-captcha"></div>'>Forty snippets for the desk.</p>`,
    ),
  }),
  lookalike('page state that quotes a sensor', {
    body: page(
      'Note',
      `<p>A note on sensors. The office is open from nine to five, and on Sundays somebody comes by at noon to look after the ropes.</p><script type="application/json">{"text":"window._pxAppId = 'PX1'; window._cf_chl_opt = {}"}</script>`,
    ),
  }),
];
