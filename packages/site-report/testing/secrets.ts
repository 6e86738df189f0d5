/** Seeded secrets of many kinds, each with a place where its name or its form gives it away. */
import type { Entry } from 'har-format';
import type { Capture } from '../src/capture.ts';
import { entry, page } from './captures.ts';
import { seeded } from '@berth/lib/testing/seeded.ts';

export interface Planted {
  kind: string;
  value: string;
}

const lower = 'abcdefghijklmnopqrstuvwxyz';
const digits = '0123456789';
const hex = '0123456789abcdef';
const base62 = lower.toUpperCase() + lower + digits;
const base32 = `${lower.toUpperCase()}234567`;

const b64 = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

function luhn(prefix: string, length: number, draw: (alphabet: string, count: number) => string): string {
  const body = prefix + draw(digits, length - prefix.length - 1);
  for (let last = 0; last < 10; last++) {
    const sum = [...body, String(last)].toReversed().reduce((total, char, i) => {
      const digit = Number(char) * (i % 2 === 0 ? 1 : 2);
      return total + (digit > 9 ? digit - 9 : digit);
    }, 0);
    if (sum % 10 === 0) return body + last;
  }
  return body;
}

function ibanOf(account: string): string {
  const remainder = BigInt(`${account}131400`) % 97n;
  return `DE${String(98n - remainder).padStart(2, '0')}${account}`;
}

type Planting = (value: string, plant: Plant) => void;

interface Plant {
  /** A request to the shop with what gives the value away. */
  send: (url: string, options?: Parameters<typeof entry>[1]) => void;
  html: (markup: string) => void;
  log: (line: string) => void;
  store: (key: string, value: string) => void;
  frame: (data: string) => void;
  jar: (name: string, value: string) => void;
}

const api = 'https://api.shop.test';
const json = (value: unknown): string => JSON.stringify(value);
const post = (body: string, type = 'application/json') => ({ method: 'POST', type: 'fetch', body, headers: { 'content-type': type } });

/** What is drawn, and the one place where it is recognised. */
export function plantSecrets(seed: number, count: number): { capture: Capture; planted: Planted[] } {
  const random = seeded(seed);
  const draw = (alphabet: string, length: number): string =>
    Array.from({ length }, () => alphabet[Math.floor(random() * alphabet.length)]).join('');
  const token = (length: number): string => `a7${draw(base62, length - 4)}Q9`;
  const jwt = (): string => `${b64({ alg: 'HS256', typ: 'JWT' })}.${b64({ sub: draw(digits, 8), email: 1 })}.${draw(base62, 43)}`;
  const password = (): string => `${draw(lower, 5)}+${draw(digits, 3)}/${draw(base62, 4)}"&<${draw(digits, 2)}`;
  const kinds: readonly (readonly [string, () => string, Planting])[] = [
    ['jwt', jwt, (value, { send }) => send(`${api}/me`, { headers: { authorization: `Bearer ${value}` } })],
    ['bearer', () => token(32), (value, { send }) => send(`${api}/me`, { headers: { Authorization: `Bearer ${value}` } })],
    ['session cookie', () => token(28), (value, { send }) => send(`${api}/me`, { headers: { cookie: `a=b; sid=${value}` } })],
    [
      'set-cookie',
      () => token(28),
      (value, { send }) => send(`${api}/in`, { replyHeaders: { 'set-cookie': [`theme=dark`, `sess=${value}; Path=/`] } }),
    ],
    ['cookie jar', () => token(24), (value, { jar }) => jar('remember_me', value)],
    ['key in header', () => draw(hex, 32), (value, { send }) => send(`${api}/a`, { headers: { 'X-Api-Key': value } })],
    ['key in query', () => draw(hex, 24), (value, { send }) => send(`${api}/a?q=1&api_key=${value}`)],
    ['key in body', () => token(20), (value, { send }) => send(`${api}/a`, post(json({ apiKey: value })))],
    [
      'password in form',
      password,
      (value, { send }) => send(`${api}/in`, post(`user=u&password=${encodeURIComponent(value)}`, 'application/x-www-form-urlencoded')),
    ],
    ['password in JSON', password, (value, { send }) => send(`${api}/in`, post(json({ login: { newPassword: value } })))],
    [
      'password in multipart',
      () => `${draw(lower, 6)}${draw(digits, 4)}`,
      (value, { send }) =>
        send(
          `${api}/in`,
          post(`--b\r\nContent-Disposition: form-data; name="passwd"\r\n\r\n${value}\r\n--b--\r\n`, 'multipart/form-data; boundary=b'),
        ),
    ],
    [
      'basic',
      () => `pw-${draw(base62, 12)}4`,
      (value, { send }) => send(`${api}/b`, { headers: { authorization: `Basic ${Buffer.from(`ann:${value}`).toString('base64')}` } }),
    ],
    ['userinfo', () => `pw${draw(base62, 10)}7`, (value, { send }) => send(`https://ann:${value}@files.shop.test/a`)],
    ['oauth code', () => draw(base62, 22), (value, { send }) => send(`https://shop.test/callback?code=${value}&state=xyz`)],
    [
      'oauth state',
      () => `${draw(hex, 20)}7a`,
      (value, { send }) => send(`https://sso.test/authorize?client_id=web&response_type=code&state=${value}`),
    ],
    [
      'refresh token',
      () => token(40),
      (value, { send }) => send(`${api}/t`, { reply: json({ refresh_token: value, expires_in: 3600 }), type: 'fetch' }),
    ],
    [
      'pkce',
      () => draw(base62, 43),
      (value, { send }) =>
        send(`${api}/t`, post(`grant_type=authorization_code&code_verifier=${value}`, 'application/x-www-form-urlencoded')),
    ],
    ['csrf meta', () => token(24), (value, { html }) => html(`<meta content="${value}" name="csrf-token">`)],
    [
      'csrf hidden',
      () => draw(hex, 32),
      (value, { html }) => html(`<form><input type=hidden name=authenticity_token value=${value}></form>`),
    ],
    ['csrf header', () => draw(hex, 32), (value, { send }) => send(`${api}/o`, { ...post('{}'), headers: { 'x-csrf-token': value } })],
    [
      'amz signature',
      () => draw(hex, 64),
      (value, { send }) => send(`https://cdn.test/f.pdf?X-Amz-Date=20260101T000000Z&X-Amz-Signature=${value}`),
    ],
    [
      'sas',
      () => `${draw(base62, 42)}7=`,
      (value, { send }) => send(`https://blob.test/f?sv=2020-01-01&se=2026-01-01&sig=${encodeURIComponent(value)}`),
    ],
    [
      'pem',
      () => `-----BEGIN PRIVATE KEY-----\n${draw(base62, 64)}\n${draw(base62, 64)}\n-----END PRIVATE KEY-----`,
      (value, { send }) => send(`${api}/k`, { type: 'fetch', reply: json({ pem: value }) }),
    ],
    ['aws', () => `AKIA${draw(lower.toUpperCase() + digits, 15)}7`, (value, { log }) => log(`upload with ${value} refused`)],
    ['github', () => `ghp_${draw(base62, 36)}`, (value, { html }) => html(`<p>use ${value} here</p>`)],
    [
      'stripe',
      () => `sk_live_${draw(base62, 24)}`,
      (value, { send }) => send('https://shop.test/app.js', { type: 'script', reply: `const s={pay:"${value}"}` }),
    ],
    ['slack', () => `xoxb-${draw(digits, 11)}-${draw(base62, 24)}`, (value, { frame }) => frame(json({ t: 'x', v: value }))],
    ['google', () => `AIza${draw(base62, 35)}`, (value, { send }) => send(`https://maps.test/js?k=1&x=${value}`)],
    [
      'webhook',
      () => `T${draw(digits, 8)}/B${draw(digits, 8)}/${draw(base62, 24)}`,
      (value, { send }) => send(`${api}/c`, { type: 'fetch', reply: json({ notify: `https://hooks.slack.com/services/${value}` }) }),
    ],
    ['card', () => luhn('4', 16, draw), (value, { send }) => send(`${api}/pay`, post(json({ n: value })))],
    ['iban', () => ibanOf(draw(digits, 18).replace(/^0/, '1')), (value, { html }) => html(`<td>${value}</td>`)],
    ['e-mail', () => `${draw(lower, 8)}.${draw(lower, 4)}@mail.example.org`, (value, { html }) => html(`<p>Hi ${value}!</p>`)],
    ['phone', () => `+4930${draw(digits, 8)}`, (value, { send }) => send(`${api}/p`, { type: 'fetch', reply: json({ contact: value }) })],
    [
      'totp',
      () => `${draw(base32, 29)}A5B`,
      (value, { html }) => html(`<a href="otpauth://totp/Shop:u?secret=${value}&amp;issuer=Shop">x</a>`),
    ],
    [
      'saml',
      () => Buffer.from(`<saml:Assertion ID="_${draw(hex, 32)}"><x>${draw(base62, 200)}</x>`).toString('base64'),
      (value, { send }) =>
        send('https://shop.test/acs', post(`SAMLResponse=${encodeURIComponent(value)}`, 'application/x-www-form-urlencoded')),
    ],
    ['magic link', () => `${draw(hex, 23)}a7`, (value, { send }) => send(`https://shop.test/magic/${value}`)],
    [
      'magic link in a mail',
      () => token(30),
      (value, { send }) => send(`${api}/m`, { type: 'fetch', reply: json({ text: `Open https://shop.test/in/${value} now.` }) }),
    ],
    [
      'recovery code',
      () => `${draw(lower + digits, 4)}7-${draw(lower + digits, 5)}`,
      (value, { send }) => send(`${api}/r`, { type: 'fetch', reply: json({ recovery_codes: [value] }) }),
    ],
    ['fragment', () => token(36), (value, { send }) => send(`https://shop.test/cb#access_token=${value}&token_type=Bearer`)],
    ['local storage', () => token(30), (value, { store }) => store('auth', json({ state: { accessToken: value } }))],
    ['frame', () => draw(hex, 40), (value, { frame }) => frame(`42["login",${json({ token: value })}]`)],
    ['console', () => `pw${draw(digits, 3)}${draw(base62, 9)}`, (value, { log }) => log(`login failed password=${value} for ann`)],
    [
      'base64 JSON',
      () => token(22),
      (value, { send }) =>
        send(`${api}/x`, { headers: { 'x-context': Buffer.from(json({ a: 1, session_token: value })).toString('base64') } }),
    ],
    ['nested JSON', () => token(22), (value, { send }) => send(`${api}/n`, post(json({ payload: json({ client_secret: value }) })))],
  ];
  const planted: Planted[] = [];
  const entries: Entry[] = [];
  const state = {
    html: '',
    frames: [] as string[],
    lines: [] as string[],
    storage: [] as { key: string; value: string }[],
    jar: [] as { name: string; value: string }[],
  };
  const plant: Plant = {
    send: (url, options) => entries.push(entry(url, { type: 'fetch', ...options })),
    html: (markup) => (state.html += `${markup}\n`),
    log: (line) => state.lines.push(line),
    store: (key, value) => state.storage.push({ key: `${key}${state.storage.length}`, value }),
    frame: (data) => state.frames.push(data),
    jar: (name, value) => state.jar.push({ name, value }),
  };
  for (let i = 0; i < count; i++) {
    const [kind, create, place] = kinds[i % kinds.length] ?? kinds[0]!;
    const value = create();
    planted.push({ kind, value });
    place(value, plant);
  }
  return { capture: toCapture(entries, state), planted };
}

function toCapture(
  entries: Entry[],
  state: {
    html: string;
    frames: string[];
    lines: string[];
    storage: { key: string; value: string }[];
    jar: { name: string; value: string }[];
  },
): Capture {
  const socket = entry('wss://api.shop.test/live', {
    type: 'websocket',
    status: 101,
    fields: { _webSocketMessages: state.frames.map((data, i) => ({ type: i % 2 ? 'send' : 'receive', time: i, opcode: 1, data })) },
  });
  return {
    url: 'https://shop.test/',
    har: { log: { version: '1.2', creator: { name: 'test', version: '1' }, entries: [...entries, socket] } },
    pages: [
      page({
        html: `<html><body>${state.html}</body></html>`,
        localStorage: state.storage,
        consoleErrors: state.lines.map((text) => ({ text, url: null, line: null })),
      }),
    ],
    cookies: state.jar.map(({ name, value }) => ({
      name,
      value,
      domain: 'shop.test',
      path: '/',
      expires: null,
      httpOnly: true,
      secure: true,
      sameSite: 'Lax',
      isPartitioned: false,
    })),
    probes: [],
    actions: [],
    loss: { droppedRequests: 0, droppedBytes: 0, reasons: [] },
  };
}

/** The value raw, percent-encoded, in base64, and escaped in JSON, once and twice. */
export function formsOf(value: string): string[] {
  const escaped = JSON.stringify(value).slice(1, -1);
  return [
    ...new Set([
      value,
      encodeURIComponent(value),
      encodeURIComponent(encodeURIComponent(value)),
      String(new URLSearchParams({ v: value })).slice(2),
      Buffer.from(value).toString('base64'),
      Buffer.from(value).toString('base64url'),
      escaped,
      JSON.stringify(escaped).slice(1, -1),
    ]),
  ];
}

/** Where nothing gives a value away: a caption, an odd parameter, a plain message, in each encoding. */
export function echoEverywhere(capture: Capture, planted: readonly Planted[]): Capture {
  const forms = planted.flatMap(({ value }) => formsOf(value));
  const entries = planted.flatMap(({ value }, i) => [
    entry(`https://shop.test/e/${i}/${encodeURIComponent(value)}/x?w=${encodeURIComponent(value)}`, {
      type: 'fetch',
      body: JSON.stringify({ w: value, list: [`x ${value} y`], b: Buffer.from(`ab:${value}:c`).toString('base64') }),
      reply: JSON.stringify({ [value]: { w: JSON.stringify({ w: value }) } }),
      headers: { 'x-w': encodeURIComponent(value), referer: `https://shop.test/?w=${encodeURIComponent(value)}` },
    }),
  ]);
  const [first] = capture.pages;
  const echoed = forms.map((form) => `<p title="a">${form}</p>`).join('\n');
  return {
    ...capture,
    har: { log: { ...capture.har.log, entries: [...capture.har.log.entries, ...entries] } },
    pages: first
      ? [
          {
            ...first,
            title: planted.map(({ value }) => value).join(' '),
            html: first.html + echoed,
            sessionStorage: forms.map((value, i) => ({ key: `w${i}`, value })),
          },
        ]
      : [],
  };
}
