import { block, lookalike, page, type Exchange } from './exchange.ts';

const login = (widget: string): string =>
  `<form method="post" action="/login"><label>Name <input name="name"></label><label>Password <input type="password" name="password"></label>${widget}<button>Sign in</button></form>`;

export const captchas: readonly Exchange[] = [
  block('turnstile', 'captcha', 'frame on a refusal', {
    captcha: 'turnstile',
    body: page('Check', '<p>Tick the box.</p><iframe src="https://challenges.cloudflare.com/cdn-cgi/x" width="300" height="65"></iframe>'),
  }),
  block('turnstile', 'captcha', 'widget on a refusal', {
    captcha: 'turnstile',
    body: page('Check', '<p>Tick the box.</p><div class="cf-turnstile" data-sitekey="1x0"></div>'),
  }),
  block('recaptcha', 'captcha', 'widget on a refusal', {
    captcha: 'recaptcha',
    body: page(
      'Check',
      '<p>Tick the box to go on.</p><form><div class="g-recaptcha" data-sitekey="x"></div></form>',
      '<script src="https://www.google.com/recaptcha/api.js"></script>\n',
    ),
  }),
  block('hcaptcha', 'captcha', 'widget on an overloaded site', {
    status: 503,
    captcha: 'hcaptcha',
    body: page(
      'Check',
      '<p>Tick the box to go on.</p><div class="h-captcha" data-sitekey="x"></div><script src="https://js.hcaptcha.com/1/api.js"></script>',
    ),
  }),
  block('arkose', 'captcha', 'puzzle on a refusal', {
    captcha: 'arkose',
    body: page('Check', '<p>Turn the animal.</p><script src="https://harbour-api.arkoselabs.com/v2/key/api.js"></script>'),
  }),
  block('generic', 'rate_limited', 'too many searches', {
    status: 429,
    captcha: 'recaptcha',
    body: page(
      'Sorry',
      '<div id="infoDiv0">The traffic was odd. <a href="//www.google.com/policies/terms/">Terms</a></div><div id="recaptcha" class="g-recaptcha" data-sitekey="x"></div>',
    ),
  }),
  lookalike('login form with reCAPTCHA', {
    captcha: 'recaptcha',
    body: page(
      'Sign in',
      login('<div class="g-recaptcha" data-sitekey="x"></div>'),
      '<script src="https://www.google.com/recaptcha/api.js" async></script>\n',
    ),
  }),
  lookalike('login form with hCaptcha', {
    captcha: 'hcaptcha',
    body: page('Sign in', login('<div class="h-captcha" data-sitekey="x"></div>')),
  }),
  lookalike('login form with Turnstile', {
    captcha: 'turnstile',
    body: page('Sign in', login('<div class="signup cf-turnstile" data-sitekey="x"></div>')),
  }),
  lookalike('login form with Arkose', {
    captcha: 'arkose',
    body: page('Sign in', login(''), '<script src="https://client-api.arkoselabs.com/v2/key/api.js" data-callback="ready"></script>\n'),
  }),
  lookalike('contact form with an invisible reCAPTCHA', {
    captcha: 'recaptcha',
    body: page(
      'Write to us',
      '<form action="/contact"><textarea name="text"></textarea><button>Send</button></form><script src="https://www.google.com/recaptcha/api.js?render=x"></script>',
    ),
  }),
  lookalike('missing page with a captcha in its search form', {
    status: 404,
    captcha: 'hcaptcha',
    body: page('Not found', '<p>Search for it:</p><form><input name="q"><div class="h-captcha"></div></form>'),
  }),
  lookalike('handbook of captcha widgets', {
    body: page(
      'Widgets',
      '<p>Write <code><div class="g-recaptcha"></div></code> or &lt;div class="h-captcha"&gt; where it should stand.</p>',
    ),
  }),
];
