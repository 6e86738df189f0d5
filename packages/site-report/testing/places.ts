/** Secrets at several hundred places, each drawn for one place alone, which a name, a form or a neighbour gives away. */
import type { Entry } from 'har-format';
import { seeded } from '@berth/lib/testing/seeded.ts';
import type { Capture, CapturedCookie, PageSnapshot, StorageItem } from '../src/capture.ts';
import { cookie, entry, page, type EntryOptions } from './captures.ts';

export interface PlantedSecret {
  label: string;
  value: string;
}

/** What a value is drawn like. Of `hex`, `plain` and `digits`, only a name gives it away. */
type Shape = 'hex' | 'opaque' | 'plain' | 'digits' | 'phrase';

const api = 'https://api.shop.test';
const json = (value: unknown): string => JSON.stringify(value);
const base64 = (text: string): string => Buffer.from(text).toString('base64');
const withReply = (reply: string, mimeType = 'application/json', others: EntryOptions = {}): EntryOptions => ({
  type: 'fetch',
  reply,
  mimeType,
  ...others,
});
const withBody = (body: string, type = 'application/json'): EntryOptions => ({
  method: 'POST',
  type: 'fetch',
  body,
  headers: { 'content-type': type },
});
/** JSON in a string of JSON, `depth` times. */
const wrapped = (value: unknown, depth: number): string =>
  depth === 0 ? json(value) : json({ inner: wrapped(value, depth - 1), count: depth });
const long = (name: string): string => `${'checkout.address.billing.default.'.repeat(4)}${name}`;

type Put = (label: string, place: (value: string) => void, shape?: Shape) => void;

class Planter {
  readonly places: PlantedSecret[] = [];
  readonly entries: Entry[] = [];
  readonly cookies: CapturedCookie[] = [];
  readonly localStorage: StorageItem[] = [];
  readonly sessionStorage: StorageItem[] = [];
  readonly lines: string[] = [];
  readonly frames: string[] = [];
  readonly events: string[] = [];
  readonly probes: string[] = [];
  readonly snapshot: Partial<PageSnapshot> = {};
  html = '';
  readonly #random: () => number;

  constructor(seed: number) {
    this.#random = seeded(seed);
  }

  readonly put: Put = (label, place, shape = 'hex') => {
    const value = this.#drawn(shape);
    this.places.push({ label, value });
    place(value);
  };

  send(url: string, options: EntryOptions = {}): void {
    this.entries.push(entry(url, { type: 'fetch', ...options }));
  }

  reply(text: string, mimeType?: string): void {
    this.send(`${api}/r${this.entries.length}`, withReply(text, mimeType));
  }

  body(text: string, mimeType?: string): void {
    this.send(`${api}/b${this.entries.length}`, withBody(text, mimeType));
  }

  #draw(alphabet: string, length: number): string {
    return Array.from({ length }, () => alphabet[Math.floor(this.#random() * alphabet.length)]).join('');
  }

  #drawn(shape: Shape): string {
    const letters = 'abcdefghijklmnopqrstuvwxyz';
    if (shape === 'hex') return `c${this.#draw('0123456789abcdef', 22)}7`;
    if (shape === 'opaque') return `aZ7${this.#draw(`${letters}${letters.toUpperCase()}0123456789`, 27)}Q9`;
    if (shape === 'digits') return `7${this.#draw('0123456789', 11)}`;
    if (shape === 'phrase') return `${this.#draw(letters, 6)} ${this.#draw(letters, 7)} ${this.#draw(letters, 5)}`;
    return `${this.#draw(letters, 6)}-${this.#draw(letters, 5)}-${this.#draw('0123456789', 4)}`;
  }
}

function plantHeaders({ put, send }: Planter): void {
  for (const scheme of ['Bearer', 'bearer', 'Token', 'token', 'ApiKey', 'GenieKey', 'SSWS', 'DPoP', 'Negotiate', 'JWT', 'PSK'])
    put(`request header authorization ${scheme}`, (value) => send(`${api}/a`, { headers: { authorization: `${scheme} ${value}` } }));
  put('authorization Token token="…"', (value) => send(`${api}/a`, { headers: { authorization: `Token token="${value}", id="7"` } }));
  put('authorization Basic', (value) => send(`${api}/a`, { headers: { authorization: `Basic ${base64(`ann:${value}`)}` } }));
  for (const name of [
    'proxy-authorization x-api-key api-key x-auth-token x-csrf-token x-xsrf-token x-amz-security-token ocp-apim-subscription-key',
    'x-goog-api-key x-vault-token private-token x-shopify-access-token x-functions-key x-session-id x-access-token x-client-secret',
    'x-passwort x-senha x-contrasena x-mot-de-passe',
  ].flatMap((line) => line.split(' ')))
    put(`request header ${name}`, (value) => send(`${api}/a`, { headers: { [name]: value } }));
  put('request header of a long name', (value) => send(`${api}/a`, { headers: { [`x-${'internal-gateway-'.repeat(6)}token`]: value } }));
  for (const name of ['x-forwarded-authorization', 'x-original-auth', 'x-upstream', 'x-user'])
    put(`${name}: Bearer`, (value) => send(`${api}/a`, { headers: { [name]: `Bearer ${value}` } }));
  put('sec-websocket-protocol', (value) => send(`${api}/a`, { headers: { 'sec-websocket-protocol': `bearer, ${value}` } }));
  put(
    'sec-websocket-protocol, opaque',
    (value) => send(`${api}/a`, { headers: { 'sec-websocket-protocol': `v1.chat, ${value}` } }),
    'opaque',
  );
  put('JSON in a header', (value) => send(`${api}/a`, { headers: { 'x-context': json({ password: value }) } }), 'plain');
  put('referer', (value) => send(`${api}/a`, { headers: { referer: `https://shop.test/in?token=${value}` } }));
  put('cookie', (value) => send(`${api}/a`, { headers: { cookie: `a=b; sid=${value}` } }));
  put('opaque name of a header', (value) => send(`${api}/a`, { headers: { [value]: '1' } }), 'opaque');
  put('opaque name of a cookie', (value) => send(`${api}/a`, { headers: { cookie: `${value}=1` } }), 'opaque');
  const reply = (headers: Record<string, string>): void => send(`${api}/h`, withReply('{}', 'application/json', { replyHeaders: headers }));
  const url = (value: string): string => `https://log.test/r?token=${value}`;
  put('set-cookie', (value) => reply({ 'set-cookie': `s=${value}; Path=/; HttpOnly` }));
  put('path of set-cookie', (value) => reply({ 'set-cookie': `s=1; Path=/reset/${value}` }), 'opaque');
  put('location', (value) => reply({ location: `/next?access_token=${value}` }));
  put('refresh', (value) => reply({ refresh: `3; url=https://shop.test/?token=${value}` }));
  put('link', (value) => reply({ link: `<https://cdn.test/a.css?token=${value}>; rel=preload` }));
  put('relative link', (value) => reply({ link: `</a.css?token=${value}>; rel=preload` }));
  put('content-location', (value) => reply({ 'content-location': `/x?sig=${value}` }));
  for (const name of ['content-security-policy', 'content-security-policy-report-only', 'x-content-security-policy']) {
    put(`${name}, report-uri`, (value) => reply({ [name]: `default-src 'self'; report-uri ${url(value)}` }));
    put(`${name}, relative report-uri`, (value) => reply({ [name]: `default-src 'self'; report-uri /csp?api_key=${value}; img-src *` }));
    put(`${name}, source`, (value) => reply({ [name]: `img-src https://cdn.test/t/${value}/; script-src 'self'` }), 'opaque');
  }
  put('report-to', (value) => reply({ 'report-to': json({ group: 'g', max_age: 1, endpoints: [{ url: url(value) }] }) }));
  put('reporting-endpoints', (value) => reply({ 'reporting-endpoints': `a="${url(value)}", b="/r?key=1"` }));
  put('nel', (value) => reply({ nel: json({ report_to: 'g', token: value }) }));
  put('sourcemap', (value) => reply({ sourcemap: `/app.js.map?token=${value}` }));
  put('x-sourcemap', (value) => reply({ 'x-sourcemap': `https://cdn.test/app.js.map?sig=${value}` }));
  put('server-timing', (value) => reply({ 'server-timing': `db;desc="token=${value}"` }));
  put('content-disposition', (value) => reply({ 'content-disposition': `attachment; filename="x?token=${value}"` }));
  put('expect-ct', (value) => reply({ 'expect-ct': `max-age=1, report-uri="${url(value)}"` }));
  put('x-debug', (value) => reply({ 'x-debug': `user=1 password=${value}` }));
  put('access-token', (value) => reply({ 'access-token': value }));
  put('x-refreshed', (value) => reply({ 'x-refreshed': `Bearer ${value}` }));
  put('access-control-allow-origin with user information', (value) =>
    reply({ 'access-control-allow-origin': `https://u:${value}@a.test` }),
  );
  put('via', (value) => reply({ via: `1.1 proxy (token=${value})` }));
}

function plantUrls({ put, send }: Planter): void {
  for (const name of [
    'token access_token id_token refresh_token api_key apikey apiKey auth auth_token sig signature password passwd pwd pass secret',
    'client_secret session sessionid sid jwt ticket hmac csrf_token X-Amz-Signature X-Amz-Security-Token sas_token accessKey',
    'private_key user[password] login.password passphrase',
    'passwort kennwort contraseña contrasenia senha wachtwoord hasło пароль 密码 パスワード 비밀번호 şifre lösenord mot_de_passe parola',
  ].flatMap((line) => line.split(' ')))
    put(`query ${name}`, (value) => send(`${api}/q?page=1&${encodeURIComponent(name)}=${value}`));
  put('query with a long name', (value) => send(`${api}/q?${encodeURIComponent(long('password'))}=${value}`));
  put('query without a name', (value) => send(`${api}/q?${value}`), 'opaque');
  put('query without a name, among others', (value) => send(`${api}/q?page=1&${value}&x=2`), 'opaque');
  put('query without a name, encoded', (value) => send(`${api}/q?${value.slice(0, 9)}%2B${value.slice(9)}`), 'opaque');
  put('name of a query parameter', (value) => send(`${api}/q?${value}=1`), 'opaque');
  put('name of a query parameter, in brackets', (value) => send(`${api}/q?filter[${value}]=1`), 'opaque');
  put('any parameter', (value) => send(`${api}/q?x=${value}`), 'opaque');
  put('Bearer in a parameter', (value) => send(`${api}/q?h=Bearer%20${value}`));
  put('JSON in a parameter', (value) => send(`${api}/q?data=${encodeURIComponent(json({ password: value }))}`), 'plain');
  put('base64 JSON in a parameter', (value) => send(`${api}/q?d=${base64(json({ user: 'ann', password: value }))}`), 'plain');
  put('URL in a parameter', (value) => send(`${api}/q?next=${encodeURIComponent(`https://x.test/?token=${value}`)}`));
  put('relative URL in a parameter', (value) => send(`${api}/q?next=${encodeURIComponent(`/in?token=${value}&a=1`)}`));
  put('URL in a URL in a parameter', (value) =>
    send(`${api}/q?next=${encodeURIComponent(`https://x.test/?to=${encodeURIComponent(`https://y.test/?token=${value}`)}`)}`),
  );
  put('fragment', (value) => send(`https://shop.test/cb#id_token=${value}&type=x`));
  put('fragment of a route', (value) => send(`https://shop.test/#/reset?token=${value}`));
  put('path', (value) => send(`${api}/files/${value}/a`), 'opaque');
  put('path behind reset', (value) => send(`https://shop.test/reset-password/${value}`));
  put('path parameter', (value) => send(`https://shop.test/cart;jsessionid=${value}?a=1`));
  put('user information', (value) => send(`https://ann:${value}@files.shop.test/a`), 'plain');
  put('address of a WebSocket', (value) => send(`wss://api.shop.test/live?token=${value}`, { type: 'websocket', status: 101 }));
}

/** Names whose values are hidden, of each kind and in several spellings and languages. */
const names = [
  'password newPassword user_password PASSWORD pass pwd passwd passphrase db_pass token accessToken authToken access_token refreshToken',
  'idToken api_key apiKey API-KEY secret clientSecret client_secret private_key secretAccessKey csrfToken _csrf session_id sessionToken',
  'authorization credentials jwt signature encryption_key bearer bearerToken webhook_secret otp_secret recoveryKey masterKey signingKey',
  'contraseña Passwort kennwort senha motDePasse mot_de_passe wachtwoord hasło пароль şifre 密码 密碼 パスワード 비밀번호 parola lösenord',
  'Zugangsschlüssel geheimnis segredo clave_secreta jeton токен 令牌 トークン كلمة_المرور adgangskode salasana',
].flatMap((line) => line.split(' '));

function plantJson(planter: Planter): void {
  const { put } = planter;
  const reply = (value: unknown): void => planter.reply(json(value));
  for (const name of names) put(`JSON ${name}`, (value) => reply({ id: 7, [name]: value }));
  put('JSON of a long name', (value) => reply({ [long('password')]: value }), 'plain');
  put('JSON of a long name that begins with it', (value) => reply({ [`password_${'of_the_current_user_'.repeat(5)}`]: value }), 'plain');
  for (const scheme of ['Bearer', 'bearer', 'Token', 'token', 'Basic', 'JWT', 'ApiKey', 'Bearer:']) {
    put(`JSON authorization: ${scheme}`, (value) => reply({ authorization: `${scheme} ${value}` }));
    put(`JSON, any name: ${scheme}`, (value) => reply({ header: `${scheme} ${value}` }));
  }
  put('JSON, Basic of user and password', (value) => reply({ h: `Basic ${base64(`ann:${value}`)}` }), 'plain');
  put('JSON, a sentence with Bearer', (value) => reply({ curl: `curl -H "Authorization: Bearer ${value}" https://x.test` }));
  for (const inner of [
    'value',
    'val',
    'v',
    'content',
    'text',
    'raw',
    'plain',
    'current',
    'default',
    'data',
    '$',
    '_text',
    '#text',
    'S',
    'stringValue',
    'new',
  ])
    put(`JSON {"password":{"${inner}":…}}`, (value) => reply({ password: { [inner]: value, visible: true } }), 'plain');
  put('JSON {"token":{"data":{"value":…}}}', (value) => reply({ token: { data: { value } } }));
  put('JSON {"passwords":[{"value":…}]}', (value) => reply({ passwords: [{ value }] }), 'plain');
  put('JSON {"secrets":{"stripe":…}}', (value) => reply({ secrets: { stripe: value, mode: 'live' } }));
  put('JSON {"apiKeys":["…"]}', (value) => reply({ apiKeys: ['', value] }));
  put('JSON {"tokens":{"web":{"a":…}}}', (value) => reply({ tokens: { web: { a: value } } }));
  put('JSON ["password", …]', (value) => reply(['password', value]), 'plain');
  put(
    'JSON [["password", …]]',
    (value) =>
      reply({
        fields: [
          ['user', 'ann'],
          ['password', value],
        ],
      }),
    'plain',
  );
  put('JSON ["user", "ann", "password", …]', (value) => reply(['user', 'ann', 'password', value]), 'plain');
  put('JSON ["Authorization", "Bearer …"]', (value) => reply([['Authorization', `Bearer ${value}`]]));
  for (const [key, of] of [
    ['name', 'value'],
    ['key', 'value'],
    ['field', 'val'],
    ['id', 'content'],
    ['label', 'value'],
    ['type', 'value'],
    ['header', 'value'],
    ['k', 'v'],
    ['Name', 'Value'],
    ['property', 'data'],
  ] as const) {
    put(`JSON {"${key}":"password","${of}":…}`, (value) => reply([{ [key]: 'password', [of]: value }]), 'plain');
    put(`JSON {"${of}":…,"${key}":"password"}`, (value) => reply([{ [of]: value, [key]: 'password' }]), 'plain');
  }
  put('JSON {"name":"token","type":"text","value":…}', (value) => reply([{ name: 'token', type: 'text', required: true, value }]));
  put('JSON of columns and rows', (value) => reply({ columns: ['id', 'password'], rows: [[1, value]] }), 'plain');
  put('JSON of fields and values', (value) => reply({ fields: ['user', 'api_key', 'age'], values: ['ann', value, 3] }));
  put(
    'JSON whose first row is the header',
    (value) =>
      reply([
        ['user', 'password'],
        ['ann', value],
      ]),
    'plain',
  );
  put('JSON of columns with names', (value) => reply({ columns: [{ name: 'id' }, { name: 'token' }], data: [['1', value]] }));
  for (const depth of [1, 2, 3, 4, 5, 6, 8, 10])
    put(`JSON in JSON, ${depth} deep`, (value) => planter.reply(wrapped({ password: value }, depth)), 'plain');
  put('JSON in JSON in a body', (value) => planter.body(wrapped({ client_secret: value }, 5)));
  put('JSON in base64 in JSON in base64', (value) => reply({ a: base64(json({ b: base64(json({ password: value })) })) }), 'plain');
  put('JSON in form in JSON', (value) => reply({ q: `a=1&d=${encodeURIComponent(json({ password: value }))}` }), 'plain');
  put('HTML in JSON', (value) => reply({ html: `<form><input type="hidden" name="csrf" value="${value}"></form>` }));
  put('XML in JSON', (value) => reply({ xml: `<?xml version="1.0"?><login><password>${value}</password></login>` }), 'plain');
  put('URL in JSON', (value) => reply({ href: `https://x.test/a?token=${value}` }));
  put('relative URL in JSON', (value) => reply({ href: `/a?token=${value}` }));
  put('relative URL without a slash in JSON', (value) => reply({ href: `download?id=1&token=${value}` }));
  put('set-cookie in JSON', (value) => reply({ headers: { 'Set-Cookie': `sid=${value}; Path=/` } }));
  put('cookie in JSON', (value) => reply({ cookie: `theme=dark; sid=${value}` }));
  put('key of JSON', (value) => reply({ [value]: { used: true } }), 'opaque');
  put('key of JSON, deep', (value) => reply({ items: [{ [value]: 1 }] }), 'opaque');
  put('key of JSON in a request', (value) => planter.body(json({ [value]: 1 })), 'opaque');
  put('any value of JSON', (value) => reply({ x: value }), 'opaque');
  put('a number', (value) => planter.reply(`{"pin":${value}}`), 'digits');
  put('a phrase', (value) => reply({ secret: value }), 'phrase');
  put('recovery phrase', (value) => reply({ seed_phrase: value }), 'phrase');
  put('two strings in JSON lines', (value) => planter.reply(`{"a":1}\n{"password":"${value}"}\n`, 'application/x-ndjson'), 'plain');
  put('JSON with comments', (value) => planter.reply(`// x\n{"password": "${value}"}`, 'application/json'), 'plain');
  put('JSONP', (value) => planter.reply(`cb({"password":"${value}"})`, 'application/javascript'));
  put('JSON behind a guard', (value) => planter.reply(`)]}'\n{"password":"${value}"}`), 'plain');
  put('JSON with escapes in its name', (value) => planter.reply(String.raw`{"p\u0061ssword":"${value}"}`), 'plain');
  put(
    'JSON with escapes in its value',
    (value) => planter.reply(`{"password":"\\u00${value.charCodeAt(0).toString(16)}${value.slice(1)}"}`),
    'plain',
  );
  put(
    'a GraphQL literal',
    (value) => planter.body(json({ query: `mutation { login(user: "ann", password: "${value}") { id } }` })),
    'plain',
  );
  put(
    'a GraphQL variable',
    (value) => planter.body(json({ query: 'mutation($i: I) { a(i: $i) { id } }', variables: { i: { password: value } } })),
    'plain',
  );
  put('GraphQL itself', (value) => planter.body(`mutation { login(password: "${value}") { id } }`, 'application/graphql'), 'plain');
}

function plantBodies(planter: Planter): void {
  const { put } = planter;
  const form = (body: string): void => planter.body(body, 'application/x-www-form-urlencoded');
  for (const name of [
    'password',
    'user[password]',
    'j_password',
    'ctl00$Main$txtPassword',
    'contraseña',
    'пароль',
    'client_secret',
    long('token'),
  ])
    put(`form ${name}`, (value) => form(`user=ann&${encodeURIComponent(name)}=${value}`));
  put('form without a name', (value) => form(value), 'opaque');
  put('name of a form field', (value) => form(`${value}=1`), 'opaque');
  put('JSON in a form', (value) => form(`payload=${encodeURIComponent(json({ password: value }))}`), 'plain');
  const part = (head: string, value: string, type = 'multipart/form-data; boundary=b'): void =>
    planter.body(`--b\r\n${head}\r\n\r\n${value}\r\n--b--\r\n`, type);
  for (const head of [
    'Content-Disposition: form-data; name="password"',
    'Content-Disposition: form-data; name=password',
    'Content-Disposition: form-data; NAME="password"',
    "content-disposition:form-data;name='password'",
    'Content-Disposition: form-data; Name=password; x=1',
    "Content-Disposition: form-data; name*=UTF-8''contrase%C3%B1a",
    'Content-Disposition: form-data; name="user[password]"',
    'Content-Type: text/plain\r\nContent-Disposition: form-data; name = "password"',
    `Content-Disposition: form-data; name="${long('password')}"`,
  ])
    put(`multipart ${head.slice(0, 80)}`, (value) => part(head, value), 'plain');
  put(
    'multipart with line feeds only',
    (value) => planter.body(`--b\nContent-Disposition: form-data; name="password"\n\n${value}\n--b--\n`, 'multipart/form-data; boundary=b'),
    'plain',
  );
  put(
    'multipart behind a preamble',
    (value) =>
      planter.body(
        `hello\r\n--b\r\nContent-Disposition: form-data; name="password"\r\n\r\n${value}\r\n--b--`,
        'multipart/form-data; boundary=b',
      ),
    'plain',
  );
  put('JSON in multipart', (value) => part('Content-Disposition: form-data; name="data"', json({ token: value })));
  const xml = (body: string): void => planter.reply(`<?xml version="1.0"?><root>${body}</root>`, 'application/xml');
  for (const [label, before, after] of [
    ['element', '<password>', '</password>'],
    ['element with a namespace', '<wsse:Password Type="x">', '</wsse:Password>'],
    ['element with CDATA', '<password><![CDATA[', ']]></password>'],
    ['element with CDATA and blanks', '<password>\n  <![CDATA[', ']]>\n</password>'],
    ['element with a long attribute', `<password note="${'n'.repeat(600)}">`, '</password>'],
    ['element in an element', '<password><value>', '</value></password>'],
    ['attribute', '<user name="ann" password="', '"/>'],
    ['attribute in single quotes', "<user name='ann' apiKey='", "'/>"],
    ['key and value attributes', '<add key="password" value="', '"/>'],
    ['value and key attributes', '<add value="', '" key="password"/>'],
    ['property', '<property name="db.password" value="', '"/>'],
    ['named element', '<entry key="password">', '</entry>'],
    ['string resource', '<string name="api_secret">', '</string>'],
    ['pair of elements', '<member><name>password</name><value><string>', '</string></value></member>'],
    ['pair of elements, Key and Value', '<Tag><Key>password</Key><Value>', '</Value></Tag>'],
    ['plist', '<dict><key>user</key><string>ann</string><key>password</key><string>', '</string></dict>'],
    ['plist with CDATA', '<dict><key>password</key><string><![CDATA[', ']]></string></dict>'],
    ['comment', '<!-- password: ', ' -->'],
    ['element in Spanish', '<contraseña>', '</contraseña>'],
    ['element in Russian', '<пароль>', '</пароль>'],
    ['Bearer', '<header>Bearer ', '</header>'],
  ] as const)
    put(`XML ${label}`, (value) => xml(`${before}${value}${after}`), label === 'Bearer' || label === 'comment' ? 'hex' : 'plain');
  put('XML with entities', (value) => xml(`<password>${value.slice(0, 3)}&#${value.charCodeAt(3)};${value.slice(4)}</password>`), 'plain');
}

const htmlRow = (cells: readonly string[], tag = 'td'): string => `<tr>${cells.map((cell) => `<${tag}>${cell}</${tag}>`).join('')}</tr>`;

function plantHtml(planter: Planter): void {
  const { put } = planter;
  const html = (markup: string): void => {
    planter.html += `${markup}\n`;
  };
  const spelled = (value: string): string =>
    `&#${value.charCodeAt(0)};${value.slice(1, 4)}&#x${value.charCodeAt(4).toString(16)};${value.slice(5)}`;
  for (const [label, before, after] of [
    ['hidden field', '<input type="hidden" name="csrf_token" value="', '">'],
    ['hidden field, reversed', '<input value="', '" name=csrf_token type=hidden>'],
    ['field by id', '<input id="api-key" value="', '">'],
    ['password field', '<input type="password" name="x" value="', '">'],
    ['field of a long name', `<input name="${long('password')}" value="`, '">'],
    ['field in German', '<input name="passwort" value="', '">'],
    ['field in Japanese', '<input name="パスワード" value="', '">'],
    ['field by autocomplete', '<input name="f1" autocomplete="current-password" value="', '">'],
    ['field by placeholder', '<input name="f2" placeholder="API key" value="', '">'],
    ['field by aria-label', '<input name="f3" aria-label="Contraseña" value="', '">'],
    ['meta', '<meta name="csrf-token" content="', '">'],
    ['textarea', '<textarea name="private_token" rows=3>', '</textarea>'],
    ['option', '<select name="api_token"><option value="', '">x</option></select>'],
    ['text of an option', '<select name="api_token"><option>', '</option></select>'],
    ['output', '<output name="token">', '</output>'],
    ['code by id', '<code id="api-key">', '</code>'],
    ['span by a data attribute', '<span data-field="secret_key">', '</span>'],
    ['data attribute', '<div data-token="', '"></div>'],
    ['data attribute of a section', '<section data-api-key="', '"></section>'],
    ['attribute of a custom element', '<my-app access-token="', '"></my-app>'],
    ['attribute of an svg', '<svg token="', '"></svg>'],
    ['param', '<object><param name="password" value="', '"></object>'],
    ['button', '<button name="token" value="', '">x</button>'],
    ['href', '<a href="/in?token=', '">x</a>'],
    ['href with entities', '<a href="/in?a=1&amp;token=', '&amp;b=2">x</a>'],
    ['srcset', '<img srcset="/a.png?token=', ' 1x, /b.png 2x">'],
    ['data-src', '<img data-src="/a.png?w=1&amp;sig=', '">'],
    ['formaction', '<button formaction="/go?token=', '">x</button>'],
    ['poster', '<video poster="/p.jpg?token=', '"></video>'],
    ['xlink:href', '<svg><use xlink:href="/s.svg?token=', '#x"/></svg>'],
    ['meta refresh', '<meta http-equiv="refresh" content="0; url=/in?token=', '">'],
    ['style attribute', '<div style="background:url(/b.png?token=', ')"></div>'],
    ['style element', '<style>body{background:url("/b.png?token=', '")}</style>'],
    ['event handler', `<a onclick="login('x', {password: '`, `'})">x</a>`],
    ['JSON in an attribute', '<div data-props="{&quot;user&quot;:1,&quot;token&quot;:&quot;', '&quot;}"></div>'],
    ['JSON in an attribute in single quotes', `<div data-props='{"apiKey":"`, `"}'></div>`],
    ['hx-headers', `<div hx-headers='{"X-CSRF-Token":"`, `"}'></div>`],
    ['srcdoc', '<iframe srcdoc="<input type=hidden name=csrf value=', '>"></iframe>'],
    ['srcdoc with entities', '<iframe srcdoc="&lt;input type=hidden name=csrf value=&quot;', '&quot;&gt;"></iframe>'],
    ['comment', '<!-- api_key=', ' -->'],
    ['comment with a colon', '<!-- token: ', ' -->'],
    ['script', '<script>window.config = {apiKey: "', '"}</script>'],
    ['JSON script', '<script type="application/json">{"password":{"value":"', '"}}</script>'],
    ['JSON-LD', '<script type="application/ld+json">{"accessToken":"', '"}</script>'],
    ['script with CDATA', '<script>//<![CDATA[\nvar token = "', '";\n//]]></script>'],
    ['template', '<template><input type="hidden" name="csrf" value="', '"></template>'],
    ['noscript', '<noscript><img src="https://t.test/p?token=', '"></noscript>'],
    ['definition list', '<dl><dt>API key</dt><dd>', '</dd></dl>'],
    ['row header', '<table><tr><th>Password</th><td>', '</td></tr></table>'],
    ['row header in French', '<table><tr><th scope=row>Mot de passe</th><td><code>', '</code></td></tr></table>'],
    ['label and code', '<p><b>Secret key:</b> <code>', '</code></p>'],
    ['column header', `<table>${htmlRow(['User', 'Password'], 'th')}<tr><td>ann</td><td>`, '</td></tr></table>'],
    [
      'column header in a head',
      `<table><thead>${htmlRow(['#', 'Token', 'Age'], 'th')}</thead><tbody>${htmlRow(['1', 'none', '2'])}<tr><td>2</td><td>`,
      '</td><td>3</td></tr></tbody></table>',
    ],
    ['text', '<p>Your password: ', '</p>'],
    ['text with Bearer', '<p>Send Bearer ', ' with it</p>'],
  ] as const)
    put(`HTML ${label}`, (value) => html(`${before}${value}${after}`));
  put('HTML entities in a value', (value) => html(`<input type="hidden" name="csrf" value="${spelled(value)}">`));
  put('HTML entities in a data attribute', (value) => html(`<div data-secret="${spelled(value)}"></div>`));
  put('HTML entities in an address', (value) => html(`<a href="/x?token&#61;${value}">x</a>`));
  put('HTML opaque in an attribute', (value) => html(`<div data-x="${value}"></div>`), 'opaque');
  put('HTML opaque query without a name', (value) => html(`<a href="/d?${value}">x</a>`), 'opaque');
}

function plantTexts(planter: Planter): void {
  const { put } = planter;
  const text = (body: string, type = 'text/plain'): void => planter.reply(body, type);
  for (const [label, before, after] of [
    ['assignment', 'user=ann password=', ' next'],
    ['environment', 'DB_HOST=db\nDB_PASSWORD=', '\nPORT=1'],
    ['YAML', 'user: ann\npassword: ', '\nport: 1\n'],
    ['quoted YAML', 'user: ann\napi_key: "', '"\n'],
    ['INI', '[db]\nuser = ann\npassword = ', '\n'],
    ['connection string', 'Server=db;User Id=sa;Password=', ';Encrypt=true'],
    ['address of a database', 'mysql://root:', '@db.test/shop'],
    ['option of a command', 'mysql --user=root --password=', ' shop'],
    ['option of a command, apart', 'deploy --token ', ' --verbose'],
    ['curl', 'curl -u ann:', ' https://x.test/'],
    ['header', 'GET / HTTP/1.1\nAuthorization: Bearer ', '\n'],
    ['header with an unknown scheme', 'Authorization: Custom ', '\n'],
    ['cookie header', 'Cookie: theme=dark; sid=', '\n'],
    ['arrow', "'api_key' => '", "',"],
    ['Bearer in a sentence', 'sent Bearer ', ' to the server'],
    ['sentence', 'Your password is ', ' now.'],
    ['sentence in German', 'Dein Passwort lautet: ', '.'],
    ['sentence in Russian', 'Ваш пароль: ', '.'],
    ['Chinese', '密码:', '。'],
  ] as const)
    put(`text, ${label}`, (value) => text(`${before}${value}${after}`));
  for (const [label, type, separator] of [
    ['CSV', 'text/csv', ','],
    ['CSV with semicolons', 'text/csv', ';'],
    ['TSV', 'text/tab-separated-values', '\t'],
    ['CSV as text', 'text/plain', ','],
  ] as const)
    put(
      `${label} with a header`,
      (value) =>
        text(
          [
            ['id', 'user', 'password', 'age'],
            ['1', 'ann', value, '3'],
            ['2', 'bob', 'none', '4'],
          ]
            .map((row) => row.join(separator))
            .join('\n'),
          type,
        ),
      'plain',
    );
  put('quoted CSV with a header', (value) => text(`"id","api_key"\n"1","${value}"\n`, 'text/csv'));
  put('Markdown table', (value) => text(`| user | password |\n|---|---|\n| ann | ${value} |\n`, 'text/markdown'), 'plain');
  const script = (body: string): void => text(body, 'text/javascript');
  for (const [label, before, after] of [
    ['object', 'const c={password:"', '"}'],
    ['assignment', "window.API_KEY='", "';"],
    ['property', 'config["client_secret"]="', '";'],
    ['call', 'headers.set("Authorization", "Bearer ', '")'],
    ['template', 'fetch(`/x?token=', '`)'],
    ['setItem', "localStorage.setItem('access_token','", "')"],
    ['comment', '// password: ', '\n'],
    ['JSON.parse', String.raw`const d=JSON.parse('{"token":"`, `"}')`],
    ['JSON.parse, escaped', String.raw`const d=JSON.parse("{\"token\":\"`, String.raw`\"}")`],
    ['array', 'const p=["password","', '"]'],
    ['relative address', 'load("/a.js?sig=', '")'],
    ['Spanish', 'const contraseña="', '"'],
  ] as const)
    put(`script, ${label}`, (value) => script(`${before}${value}${after}`));
  for (const [label, before, after] of [
    ['form', 'fetch("/in",{body:"user=ann&password=', '"})'],
    ['form with a field in brackets', 'fetch("/in",{body:"user%5Bname%5D=ann&user%5Bpassword%5D=', '"})'],
    ['form in Spanish', "fetch('/in',{body:'usuario=ann&contrase%C3%B1a=", "'})"],
    ['form in Russian', "fetch('/in',{body:'%D0%BF%D0%B0%D1%80%D0%BE%D0%BB%D1%8C=", "'})"],
    ['form in a template', 'fetch("/in",{body:`user=${u}&passphrase=', '&a=1`})'],
    ['form that is joined', 'const b="user=ann&password="+"', '"'],
    ['form that is joined and encoded', 'const b="user=ann&password=" + encodeURIComponent("', '")'],
    ['form that is joined by a call', "const b='user=ann&password='.concat('", "')"],
    ['form in JSON', String.raw`send("{\"body\":\"a=1&client_secret=`, String.raw`\"}")`],
    ['form with escapes', String.raw`fetch("/in",{body:"a\x3d1\u0026password\x3d`, '"})'],
    ['query', 'load("?page=1&auth=', '")'],
    ['JSON in single quotes', `post('{"password":{"value":"`, `"}}')`],
    ['state of a page', 'window.__STATE__={"user":{"password":{"value":"', '"}}};'],
    ['state behind a function', 'function f(a){return a/2}\nf({"list":["password","', '"]})'],
    ['state behind a regular expression', `const q=/["']/g;f({"fields":[{"name":"password","value":"`, '"}]})'],
    ['pair of a WebSocket', 'new WebSocket(u,["bearer","', '"])'],
    ['protocol of a WebSocket', 'open({"sec-websocket-protocol":"bearer, ', '"})'],
    ['multipart', String.raw`post("--b\r\nContent-Disposition: form-data; name=\"password\"\r\n\r\n`, String.raw`\r\n--b--")`],
    [
      'multipart behind a preamble',
      String.raw`post("x\r\n--b\r\nContent-Disposition: form-data; name=\"pin\"\r\n\r\n`,
      String.raw`\r\n--b--")`,
    ],
    ['markup', `el.innerHTML='<input type="hidden" name="csrf" value="`, `">'`],
    ['markup of another name', `el.innerHTML="<password>`, `</password>"`],
    ['cookie', 'document.cookie="sid=', '; path=/"'],
    ['address', 'link="/in?next=%2Fa%3Ftoken%3D', '"'],
  ] as const) {
    put(`script, literal: ${label}`, (value) => script(`${before}${value}${after}`), 'plain');
    put(`HTML script, literal: ${label}`, (value) => (planter.html += `<script>${before}${value}${after}</script>\n`), 'plain');
  }
  put('script, key of the state of a page', (value) => script(`window.__STATE__ = {"byId":{"${value}":1}}`), 'opaque');
  put('script, random text', (value) => script(`localStorage.setItem("${value}","1")`), 'opaque');
  put('script, path', (value) => script(`load("/files/${value}/a")`), 'opaque');
  put('script, name of a field in a literal', (value) => script(`send("${value}=1")`), 'opaque');
  const style = (body: string): void => text(body, 'text/css');
  put('CSS url()', (value) => style(`a{background:url(https://cdn.test/a.png?token=${value})}`));
  put('CSS url() with quotes', (value) => style(`a{background:url("/a.png?sig=${value}")}`));
  put('CSS @import', (value) => style(`@import '/a.css?token=${value}';`));
  put('CSS url() without a name', (value) => style(`a{background:url(/f?${value})}`), 'opaque');
  put('CSS comment', (value) => style(`/* api_key: ${value} */ a{}`));
  put('CSS path', (value) => style(`a{background:url(/share/${value}/a.png)}`));
}

function plantLive(planter: Planter): void {
  const { put, frames, events, lines, localStorage, sessionStorage, cookies, probes, snapshot } = planter;
  for (const [label, before, after] of [
    ['JSON', '{"type":"auth","token":"', '"}'],
    ['Bearer', '{"type":"auth","header":"Bearer ', '"}'],
    ['Basic', '{"h":"Basic ', '"}'],
    ['token scheme', '{"h":"token ', '"}'],
    ['plain Bearer', 'AUTH Bearer ', ''],
    ['Socket.IO', '42["auth",{"token":"', '"}]'],
    ['Socket.IO with a namespace', '42/chat,["auth",{"token":"', '"}]'],
    ['Socket.IO pair', '42["password","', '"]'],
    ['STOMP', 'CONNECT\nlogin:ann\npasscode:', '\n\n\0'],
    ['value apart', '{"password":{"value":"', '"}}'],
    ['JSON in JSON', String.raw`{"d":"{\"e\":\"{\\\"token\\\":\\\"`, String.raw`\\\"}\"}"}`],
    ['SockJS', String.raw`a["{\"token\":\"`, String.raw`\"}"]`],
    ['IRC', 'PASS oauth:', '\r\n'],
    ['signal separator', '{"arguments":[{"token":"', '"}]}\u001e'],
    ['XML', '<auth><password>', '</password></auth>'],
    ['form', 'op=login&password=', ''],
  ] as const)
    put(`WebSocket, ${label}`, (value) => frames.push(`${before}${value}${after}`));
  put('WebSocket, key', (value) => frames.push(json({ [value]: 1 })), 'opaque');
  put('server-sent event', (value) => events.push(json({ token: value })));
  put('server-sent event with Bearer', (value) => events.push(`Bearer ${value}`));
  for (const [label, before, after] of [
    ['assignment', 'failed: token=', ' x'],
    ['Bearer', 'Authorization: Bearer ', ''],
    ['object', 'login {password: "', '"}'],
    ['address', 'GET https://x.test/a?token=', ' 404'],
    ['relative address', 'GET /a?token=', ' 404'],
    ['JSON', 'response {"password":"', '"}'],
    ['escaped JSON', String.raw`response "{\"password\":\"`, String.raw`\"}"`],
    ['Portuguese', 'senha: ', ' ok'],
  ] as const)
    put(`console, ${label}`, (value) => lines.push(`${before}${value}${after}`));
  put('local storage by key', (value) => localStorage.push({ key: 'auth_token', value }));
  put('local storage, JSON', (value) =>
    localStorage.push({ key: 'persist:root', value: json({ auth: json({ user: json({ token: value }) }) }) }),
  );
  put('local storage, Bearer', (value) => localStorage.push({ key: 'h', value: `Bearer ${value}` }));
  put('key of the local storage', (value) => localStorage.push({ key: value, value: '1' }), 'opaque');
  put('key with a long name', (value) => localStorage.push({ key: long('password'), value }), 'plain');
  put('session storage in Italian', (value) => sessionStorage.push({ key: 'parola_d_ordine', value }), 'plain');
  put('session storage, value apart', (value) => sessionStorage.push({ key: 's', value: json({ password: { value } }) }), 'plain');
  put('cookie of the browser', (value) => cookies.push(cookie('c1', { value })));
  put('name of a cookie of the browser', (value) => cookies.push(cookie(value, { value: '1' })), 'opaque');
  put('path of a cookie of the browser', (value) => cookies.push(cookie('c2', { path: `/reset/${value}` })), 'opaque');
  put('probed file', (value) => probes.push(`User-agent: *\nDisallow: /x?token=${value}\n`));
  put('title', (value) => (snapshot.title = `Password: ${value}`));
  put('address of the page', (value) => (snapshot.url = `https://shop.test/?token=${value}`));
  put(
    'image',
    (value) =>
      (snapshot.images = [{ url: `https://cdn.test/i.png?token=${value}`, naturalWidth: 9, naturalHeight: 9, width: 9, height: 9 }]),
  );
  put(
    'coverage',
    (value) => (snapshot.coverage = [{ url: `https://cdn.test/c.js?sig=${value}`, type: 'js', totalBytes: 9, usedBytes: 3, scriptMs: 1 }]),
  );
  put('key of embedded data', (value) => (snapshot.dataBlobs = [{ name: '__DATA__', keys: ['a', value], bytes: 9 }]), 'opaque');
  put('largest element', (value) => (snapshot.vitals = { ...page().vitals, lcpElement: `img[src="/a.png?token=${value}"]` }));
  put('stack of an initiator', (value) =>
    planter.send(`${api}/i`, {
      fields: {
        _initiator: {
          type: 'script',
          stack: { callFrames: [{ functionName: 'f', url: `https://cdn.test/a.js?token=${value}`, lineNumber: 1, columnNumber: 1 }] },
        },
      },
    }),
  );
  put(
    'base64 body',
    (value) => planter.entries.push(withEncodedBody(entry(`${api}/e`, withReply('x')), base64(json({ password: value })))),
    'plain',
  );
}

const withEncodedBody = (of: Entry, text: string): Entry => ({
  ...of,
  response: { ...of.response, content: { ...of.response.content, text, encoding: 'base64' } },
});

/** A capture with all of them. Each request has its parameters as the browser lists them. */
export function plantPlaces(seed: number): { capture: Capture; places: PlantedSecret[] } {
  const planter = new Planter(seed);
  planter.send = planter.send.bind(planter);
  for (const plant of [plantHeaders, plantUrls, plantJson, plantBodies, plantHtml, plantTexts, plantLive]) plant(planter);
  planter.send('wss://api.shop.test/live', {
    type: 'websocket',
    status: 101,
    fields: { _webSocketMessages: planter.frames.map((data, i) => ({ type: i % 2 ? 'send' : 'receive', time: i, opcode: 1, data })) },
  });
  planter.send(`${api}/events`, {
    type: 'eventsource',
    fields: { _eventSourceMessages: planter.events.map((data, i) => ({ time: i, eventName: 'm', eventId: '', data })) },
  });
  planter.entries.push(entry('https://shop.test/', { reply: `<!doctype html><html><body>${planter.html}</body></html>` }));
  const { entries, places, cookies } = planter;
  return { capture: toCapture(planter, entries.map(withParameters), cookies), places };
}

const withParameters = (of: Entry): Entry => ({
  ...of,
  request: { ...of.request, queryString: [...(URL.parse(of.request.url)?.searchParams ?? [])].map(([name, value]) => ({ name, value })) },
});

function toCapture(planter: Planter, entries: Entry[], cookies: CapturedCookie[]): Capture {
  const { html, lines, localStorage, sessionStorage, probes, snapshot } = planter;
  const consoleErrors = lines.map((text) => ({ text, url: null, line: null }));
  return {
    url: 'https://shop.test/',
    har: { log: { version: '1.2', creator: { name: 'test', version: '1' }, pages: [], entries } },
    pages: [page({ html: `<!doctype html><html><body>${html}</body></html>`, localStorage, sessionStorage, consoleErrors, ...snapshot })],
    cookies,
    probes: probes.map((body) => ({ path: '/robots.txt', statusCode: 200, contentType: 'text/plain', body })),
    actions: [],
    loss: { droppedRequests: 0, droppedBytes: 0, reasons: [] },
  };
}

/** The value as it stands in outputs: raw, percent-encoded, in base64, escaped in JSON, with entities. */
export function outputFormsOf(value: string): string[] {
  const escaped = json(value).slice(1, -1);
  const forms = [
    value,
    encodeURIComponent(value),
    encodeURIComponent(encodeURIComponent(value)),
    escaped,
    json(escaped).slice(1, -1),
    value.replaceAll('&', '&amp;').replaceAll('"', '&quot;'),
    `&#${value.charCodeAt(0)};${value.slice(1)}`,
  ];
  for (const offset of [0, 1, 2]) {
    const whole = Buffer.concat([Buffer.alloc(offset), Buffer.from(value)]).toString('base64');
    const inner = whole.slice(Math.ceil((offset * 8) / 6), Math.floor(((offset + value.length) * 8) / 6));
    forms.push(inner, inner.replaceAll('+', '-').replaceAll('/', '_'));
  }
  // What remains where the first character is escaped.
  forms.push(value.slice(5));
  return [...new Set(forms)];
}

/** Labels of the places whose value an output shows in any form. */
export const shownIn = (output: string, places: readonly PlantedSecret[]): string[] =>
  places.filter(({ value }) => outputFormsOf(value).some((form) => output.includes(form))).map(({ label }) => label);
