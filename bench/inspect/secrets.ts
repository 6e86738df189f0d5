/** Secrets of thirty-six kinds, planted where sites have them. Seeded: equal seeds give equal HARs. */
import { createHash } from 'node:crypto';
import type { Har } from 'har-format';
import { harOf, type Exchange } from './har.ts';

export interface Planted {
  kind: string;
  value: string;
}

const site = 'https://shop.example';

/** Deterministic bytes by name, as text of an alphabet. */
class Source {
  readonly #seed: string;
  #count = 0;

  constructor(seed: string) {
    this.#seed = seed;
  }

  #bytes(): Buffer {
    this.#count += 1;
    return createHash('sha512').update(`${this.#seed} ${this.#count}`).digest();
  }

  text(length: number, alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'): string {
    let text = '';
    while (text.length < length) for (const byte of this.#bytes()) text += alphabet[byte % alphabet.length] ?? '';
    return text.slice(0, length);
  }

  digits(length: number): string {
    return `${this.text(1, '123456789')}${this.text(length - 1, '0123456789')}`;
  }

  hex(length: number): string {
    return this.text(length, '0123456789abcdef');
  }
}

type Plant = (source: Source) => { value: string; exchange: Exchange };

const jwt = (source: Source): string => {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  return `${part({ alg: 'RS256', kid: 'k1' })}.${part({ iss: 'https://id.shop.example', sub: source.digits(8), exp: 1_900_000_000 })}.${source.text(86)}`;
};

/** Digits with the check digit of payment cards. */
function cardNumber(source: Source): string {
  const body = `4${source.digits(14)}`;
  const sum = [...body].reduce((total, digit, i) => {
    const doubled = Number(digit) * (i % 2 === 0 ? 2 : 1);
    return total + (doubled > 9 ? doubled - 9 : doubled);
  }, 0);
  return `${body}${(10 - (sum % 10)) % 10}`;
}

function iban(source: Source): string {
  const account = source.digits(18);
  const remainder = BigInt(`${account}131400`) % 97n;
  return `DE${String(98n - remainder).padStart(2, '0')}${account}`;
}

const path = (name: string): string => `${site}/api/${name}`;
const ok = JSON.stringify({ ok: true });
const inReply = (name: string, value: object): Exchange => ({ url: path(name), body: JSON.stringify(value) });
const inBody = (name: string, value: object): Exchange => ({
  method: 'POST',
  url: path(name),
  requestBody: JSON.stringify(value),
  body: ok,
});
const inForm = (name: string, fields: Record<string, string>): Exchange => ({
  method: 'POST',
  url: path(name),
  requestType: 'application/x-www-form-urlencoded',
  requestBody: new URLSearchParams(fields).toString(),
  body: ok,
});
const inHeader = (name: string, requestHeaders: Record<string, string>): Exchange => ({ url: path(name), requestHeaders, body: ok });
const inQuery = (name: string, fields: Record<string, string>): Exchange => ({
  url: `${path(name)}?${new URLSearchParams(fields)}`,
  body: ok,
});
const inHtml = (markup: string): Exchange => ({
  url: `${site}/page`,
  type: 'text/html',
  resourceType: 'document',
  body: `<!doctype html><html lang="en"><head><title>Page</title>${markup}</head><body><p>Text</p></body></html>`,
});
const inScript = (code: string): Exchange => ({ url: `${site}/app.js`, type: 'text/javascript', resourceType: 'script', body: code });
const redirected = (location: string): Exchange => ({
  url: `${site}/callback`,
  status: 302,
  type: 'text/html',
  responseHeaders: { location },
  resourceType: 'document',
});

const plants: Record<string, Plant> = {
  'JWT in a header': (s) => plant(jwt(s), (value) => inHeader('me', { authorization: `Bearer ${value}` })),
  'opaque bearer token': (s) => plant(s.text(40), (value) => inHeader('me', { authorization: `Bearer ${value}` })),
  'cookie sent': (s) => plant(s.text(32), (value) => inHeader('cart', { cookie: `theme=dark; sid=${value}` })),
  'cookie set': (s) =>
    plant(s.text(32), (value) => ({ url: path('login'), body: ok, responseHeaders: { 'set-cookie': `sid=${value}; Path=/; HttpOnly` } })),
  'API key in a header': (s) => plant(s.hex(32), (value) => inHeader('rates', { 'x-api-key': value })),
  'API key in a query': (s) => plant(s.hex(32), (value) => inQuery('tiles', { api_key: value })),
  'password in JSON': (s) => plant(`${s.text(9)} ${s.text(5)}!`, (value) => inBody('login', { user: 'ada', password: value })),
  'password in a form': (s) => plant(`${s.text(9)}&${s.text(5)}?`, (value) => inForm('login', { user: 'ada', password: value })),
  'Basic credentials': (s) =>
    plant(s.text(14), (value) => inHeader('export', { authorization: `Basic ${Buffer.from(`ada:${value}`).toString('base64')}` })),
  'authorization code': (s) => plant(s.text(32), (value) => redirected(`${site}/back?code=${value}&state=open`)),
  'refresh token': (s) => plant(s.text(48), (value) => inReply('token', { refresh_token: value })),
  'PKCE verifier': (s) => plant(s.text(43), (value) => inForm('token', { grant_type: 'authorization_code', code_verifier: value })),
  'CSRF token in a meta element': (s) => plant(s.text(32), (value) => inHtml(`<meta name="csrf-token" content="${value}">`)),
  'CSRF token in a hidden field': (s) =>
    plant(s.text(32), (value) => inHtml(`<form><input type="hidden" name="authenticity_token" value="${value}"></form>`)),
  'CSRF token in a header': (s) => plant(s.text(32), (value) => inHeader('notes', { 'x-csrf-token': value })),
  'signed URL': (s) => plant(s.hex(64), (value) => inQuery('file', { 'X-Amz-Date': '20260203T100000Z', 'X-Amz-Signature': value })),
  'shared access signature': (s) => plant(`${s.text(42)}=`, (value) => inQuery('blob', { sv: '2024-01-01', sig: value })),
  'private key': (s) =>
    plant(s.text(64), (value) => inReply('keys', { pem: `-----BEGIN PRIVATE KEY-----\n${value}\n-----END PRIVATE KEY-----` })),
  'AWS access key': (s) =>
    plant(`AKIA${s.text(16, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567')}`, (value) => inScript(`const cloud = { id: "${value}" };`)),
  'AWS secret key': (s) => plant(s.text(40), (value) => inReply('cloud', { aws_secret_access_key: value })),
  'GitHub token': (s) => plant(`ghp_${s.text(36)}`, (value) => inScript(`fetch("/x", { headers: { a: "${value}" } });`)),
  'Stripe key': (s) => plant(`sk_live_${s.text(24)}`, (value) => inReply('config', { payments: { key: value } })),
  'Slack token': (s) => plant(`xoxb-${s.digits(11)}-${s.text(24)}`, (value) => inReply('config', { chat: value })),
  'Google key': (s) => plant(`AIza${s.text(35)}`, (value) => inQuery('maps', { key: value })),
  webhook: (s) =>
    plant(s.text(24), (value) => inReply('config', { hook: `https://hooks.slack.com/services/T0123ABCD/B0123ABCD/${value}` })),
  'card number': (s) => plant(cardNumber(s), (value) => inBody('pay', { card: value, expires: '12/30' })),
  IBAN: (s) => plant(iban(s), (value) => inReply('account', { iban: value })),
  'e-mail address': (s) => plant(`${s.text(9).toLowerCase()}@mail.example`, (value) => inReply('people', { items: [{ contact: value }] })),
  'telephone number': (s) => plant(`+49 30 ${s.digits(8)}`, (value) => inReply('people', { items: [{ phone: value }] })),
  'one-time code seed': (s) =>
    plant(s.text(32, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'), (value) =>
      inHtml(`<a href="otpauth://totp/Shop:ada?secret=${value}&amp;issuer=Shop">Set up</a>`),
    ),
  'SAML assertion': (s) =>
    plant(Buffer.from(`<samlp:Response ID="_${s.hex(32)}">`).toString('base64'), (value) => inForm('acs', { SAMLResponse: value })),
  'magic link': (s) => plant(s.text(43), (value) => ({ url: `${site}/magic/${value}`, body: ok })),
  'recovery code': (s) =>
    plant(`${s.hex(5)}-${s.hex(5)}`, (value) => inReply('recovery', { recovery_codes: [value, `${s.hex(5)}-${s.hex(5)}`] })),
  'token in a fragment': (s) => plant(s.text(40), (value) => redirected(`${site}/app#access_token=${value}&token_type=bearer`)),
  'token in a message': (s) =>
    plant(s.text(40), (value) => ({
      url: 'wss://shop.example/live',
      status: 101,
      resourceType: 'websocket',
      frames: [JSON.stringify({ type: 'auth', token: value }), '{"type":"ping"}'],
    })),
  'client secret': (s) => plant(s.text(36), (value) => inForm('token', { client_id: 'shop', client_secret: value })),
};

function plant(value: string, toExchange: (value: string) => Exchange): { value: string; exchange: Exchange } {
  return { value, exchange: toExchange(value) };
}

export function plantSecrets(count: number, seed: string): { har: Har; secrets: Planted[] } {
  const source = new Source(seed);
  const kinds = Object.entries(plants);
  const secrets: Planted[] = [];
  const exchanges: Exchange[] = [{ url: `${site}/`, type: 'text/html', resourceType: 'document', body: '<title>Shop</title>' }];
  for (let i = 0; i < count; i += 1) {
    const [kind, make] = kinds[i % kinds.length] as [string, Plant];
    const { value, exchange } = make(source);
    secrets.push({ kind, value });
    exchanges.push(exchange);
  }
  return { har: harOf(exchanges), secrets };
}

/** The forms in which an output could hold a value. */
const formsOf = (value: string): string[] => [
  value,
  encodeURIComponent(value),
  new URLSearchParams({ v: value }).toString().slice(2),
  Buffer.from(value).toString('base64'),
  Buffer.from(value).toString('base64url'),
  JSON.stringify(value).slice(1, -1),
];

export const findLeaks = (output: string, secrets: readonly Planted[]): Planted[] =>
  secrets.filter(({ value }) => formsOf(value).some((form) => output.includes(form)));
