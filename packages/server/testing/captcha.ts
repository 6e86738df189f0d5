/** Fixtures of this folder's tests: an operator's endpoint, and pages built as the vendors' widgets build them. */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { TestContext } from 'node:test';

export const secret = 'a secret of thirty-two characters or more';

export interface ReceivedRequest {
  action: 'submit' | 'poll' | 'report';
  id?: string;
  good?: boolean;
  request_id: string;
  timestamp: number;
  task?: Record<string, unknown>;
}

export type Responder = (request: ReceivedRequest, response: ServerResponse, count: number) => void;

export interface Endpoint {
  url: string;
  requests: ReceivedRequest[];
  /** Requests with a wrong signature. */
  rejected: number;
  /** Resolves with the first request of this action, which may have come already. */
  waitForRequest(action: ReceivedRequest['action']): Promise<ReceivedRequest>;
}

export const json = (response: ServerResponse, body: unknown, status = 200): void =>
  void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));

/** Accepts the task, is still solving at the first poll, and then returns `a-token`. */
export const solvingResponder: Responder = ({ action }, response, count) => {
  if (action === 'submit') json(response, { id: 'job-1' });
  else if (action === 'poll')
    json(response, count < 2 ? { state: 'solving' } : { id: 'job-1', state: 'solved', token: 'a-token', cost_units: 3 });
  else response.writeHead(204).end();
};

/** The responder's `count` is the number of requests of that action so far. */
export async function openEndpoint(t: TestContext, respond: Responder = solvingResponder): Promise<Endpoint> {
  const waiting = new Set<() => void>();
  const waitForRequest = async (action: ReceivedRequest['action']): Promise<ReceivedRequest> => {
    for (;;) {
      const match = endpoint.requests.find((request) => request.action === action);
      if (match) return match;
      await new Promise<void>((resolve) => waiting.add(resolve));
    }
  };
  const server = createServer((request, response) => {
    void bodyOf(request).then((body) => {
      if (!isSigned(request, body)) {
        endpoint.rejected += 1;
        return json(response, {}, 401);
      }
      const received = JSON.parse(body) as ReceivedRequest;
      endpoint.requests.push(received);
      for (const resolve of waiting) resolve();
      waiting.clear();
      respond(received, response, endpoint.requests.filter(({ action }) => action === received.action).length);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });
  const endpoint: Endpoint = {
    url: `http://127.0.0.1:${(server.address() as { port: number }).port}/captcha`,
    requests: [],
    rejected: 0,
    waitForRequest,
  };
  return endpoint;
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let body = '';
  for await (const chunk of request.setEncoding('utf8')) body += chunk as string;
  return body;
}

/** Whether a request is signed as docs/captcha.md describes. */
function isSigned(request: IncomingMessage, body: string): boolean {
  const [, seconds = '', mac = ''] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(String(request.headers['berth-signature'])) ?? [];
  const expected = createHmac('sha256', secret).update(`${seconds}.${body}`).digest();
  const given = Buffer.from(mac, 'hex');
  return given.length === expected.length && timingSafeEqual(given, expected) && JSON.parse(body).timestamp === Number(seconds);
}

const form = (widget: string, more = ''): string =>
  `<form action="/done"><label>Name <input name="name"></label>${widget}<button id="send">Send</button></form>${more}`;
const frame = (src: string, size = 'width:304px;height:78px'): string => `<iframe src="${src}" style="${size};border:0"></iframe>`;
const hiddenArea = (name: string): string => `<textarea name="${name}" style="display:none"></textarea>`;
const google = 'https://www.google.com/recaptcha';
const turnstileField = '<input type="hidden" name="cf-turnstile-response">';

/** The pages by path. The site key of each page names it. */
export const pages: Record<string, string> = {
  '/plain': '<title>plain</title><h1>A page</h1><p>Write <code>&lt;div class="g-recaptcha"&gt;</code> where it belongs.</p>',
  '/done': '<title>done</title><p>Thank you.</p>',
  '/recaptcha': form(
    `<div class="g-recaptcha" data-sitekey="key-v2" data-callback="site.onAnswer"` +
      ` data-s="bound">${frame(`${google}/api2/anchor?ar=1&k=key-v2&size=normal`)}${hiddenArea('g-recaptcha-response')}</div>`,
    '<script>received = []; site = { onAnswer: (token) => received.push(token) }</script>',
  ),
  '/recaptcha-rendered': form(
    `<div id="here"><div>${frame(`${google}/enterprise/anchor?ar=1&k=key-rendered&size=normal`)}` +
      `${hiddenArea('g-recaptcha-response')}</div></div>`,
    `<script>received = []; ___grecaptcha_cfg = { clients: { 0: { a: { b: { sitekey: 'key-of-another', callback: () =>` +
      ` received.push('wrong') } } }, 1: { a: document.body, c: { d: { sitekey: 'key-rendered', callback: (token) =>` +
      ` received.push(token) } } } } }</script>`,
  ),
  '/recaptcha-invisible': form(
    `<button class="g-recaptcha" data-sitekey="key-invisible" data-callback="onAnswer">Go</button>`,
    `<div class="grecaptcha-badge">${frame(`${google}/api2/anchor?k=key-invisible&size=invisible`, 'width:256px;height:60px')}` +
      `${hiddenArea('g-recaptcha-response')}</div>
    <div style="visibility:hidden">${frame(`${google}/api2/bframe?k=key-invisible`, 'width:400px;height:580px')}</div>` +
      `<script>function onAnswer(token) { location.href = '/done?' + token; }</script>`,
  ),
  '/recaptcha-puzzle': form(
    `<button class="g-recaptcha" data-sitekey="key-puzzle">Go</button>`,
    `<div class="grecaptcha-badge">${frame(`${google}/api2/anchor?k=key-puzzle&size=invisible`)}` +
      `${hiddenArea('g-recaptcha-response')}</div>` +
      frame(`${google}/api2/bframe?k=key-puzzle`, 'width:400px;height:580px'),
  ),
  '/recaptcha-score':
    `${form('')}<script type="text/later" src="${google}/api.js?render=key-score"></script>
    <div class="grecaptcha-badge">${frame(`${google}/api2/anchor?k=key-score&size=invisible`, 'width:256px;height:60px')}` +
    `${hiddenArea('g-recaptcha-response')}</div>`,
  '/hcaptcha': form(
    `<div class="h-captcha" data-sitekey="key-h" data-callback="onAnswer">` +
      frame('https://newassets.hcaptcha.com/captcha/v1/x/static/hcaptcha.html#frame=checkbox&id=1&sitekey=key-h') +
      `${hiddenArea('g-recaptcha-response')}${hiddenArea('h-captcha-response')}</div>`,
    '<script>received = []; onAnswer = (token) => received.push(token)</script>',
  ),
  '/turnstile': form(
    `<div class="cf-turnstile" data-sitekey="key-t" data-action="sign-up" data-cdata="more" data-response-field-name="mine">` +
      `<div style="width:300px;height:65px"></div><input type="hidden" name="mine"></div>`,
  ),
  '/turnstile-callback':
    `<div class="cf-turnstile" data-sitekey="key-callback" data-response-field="false"` +
    ` data-callback="onAnswer"></div><script>received = []; onAnswer = (token) => received.push(token)</script>`,
  '/turnstile-throws':
    `<div class="cf-turnstile" data-sitekey="key-throws" data-response-field="false"` +
    ` data-callback="onAnswer"></div><script>onAnswer = () => { throw new Error('no'); }</script>`,
  '/turnstile-bare': form('<div class="cf-turnstile" data-sitekey="key-bare"></div>'),
  '/turnstile-forgets': form(
    `<div class="cf-turnstile" data-sitekey="key-forgets">${turnstileField}</div>`,
    `<script>document.querySelector('[type=hidden]').addEventListener('change', (event) => { event.target.value = ''; })</script>`,
  ),
  '/challenge':
    `<title>Just a moment...</title><form id="challenge-form" action="/challenge?__cf_chl_f_tk=x" method="post">` +
    `<div style="width:300px;height:65px"></div>${turnstileField}</form>
    <script type="text/later" src="/cdn-cgi/challenge-platform/h/b/orchestrate/chl_page/v1?ray=x"></script>`,
  '/arkose': form(
    `<div id="FunCaptcha" data-pkey="11111111-2222-3333-4444-555555555555" data-callback="onAnswer"` +
      ` data-blob="bound">${frame('https://client-api.arkoselabs.com/v2/11111111-2222-3333-4444-555555555555/enforcement.html')}` +
      `<input type="hidden" id="FunCaptcha-Token" name="fc-token"></div>`,
    '<script>received = []; onAnswer = (token) => received.push(token)</script>',
  ),
  '/px': '<title>Access denied</title><div id="px-captcha" style="width:300px;height:80px"></div>',
  '/loading':
    `${form('<div id="later"></div>')}<script type="text/later"` +
    ` src="https://challenges.cloudflare.com/turnstile/v0/api.js?render=explicit"></script>`,
  '/framed': '<title>framed</title><iframe src="{other}/turnstile" style="width:500px;height:300px"></iframe>',
  '/shadow':
    `<div id="host"></div><script>document.querySelector('#host').attachShadow({ mode: 'open' }).innerHTML = '<form>` +
    `<div class="h-captcha" data-sitekey="key-shadow"></div><textarea name="h-captcha-response"></textarea></form>'</script>`,
  '/two': `${form(`<div hidden><div class="h-captcha" data-sitekey="key-first"></div>${hiddenArea('h-captcha-response')}</div>`)}
    ${form(`<div class="h-captcha" data-sitekey="key-second"><div style="height:78px"></div></div>${hiddenArea('h-captcha-response')}`)}`,
  '/hostile':
    `<form><input name="parentNode"><input name="querySelectorAll"><div class="h-captcha" data-sitekey="key-hostile">` +
    `</div><textarea name="h-captcha-response"></textarea></form>
    <img name="querySelectorAll"><script>Element.prototype.getAttribute = () => 'stolen'; JSON.stringify = () => '"stolen"';` +
    ` document.querySelectorAll = () => { throw 1 };</script>`,
};
