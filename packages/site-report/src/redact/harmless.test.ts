/** What looks a little like a secret and is none stays as it is: else a report would say nothing. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Capture } from '../capture.ts';
import { entry, page } from '../../testing/captures.ts';
import { redact } from './redact.ts';

const capture = (fields: Partial<Capture>): Capture => ({
  url: 'https://shop.test/',
  har: { log: { version: '1.2', creator: { name: 'test', version: '1' }, entries: [] } },
  pages: [],
  cookies: [],
  probes: [],
  actions: [],
  loss: { droppedRequests: 0, droppedBytes: 0, reasons: [] },
  ...fields,
});
const ofEntry = (of: ReturnType<typeof entry>): Capture =>
  capture({ har: { log: { version: '1.2', creator: { name: 'test', version: '1' }, entries: [of] } } });

const json: Readonly<Record<string, unknown>> = {
  'a UUID': { id: '7c9e6679-7425-40de-944b-e07fc1f90ae7' },
  'an object id': { _id: '507f1f77bcf86cd799439011' },
  'a ULID': { id: '01HV6Z3J8K9QW2E4R5T6Y7U8I9' },
  'an id with a prefix': { id: 'prod_8812', customer: 'cus_9s6XKzkNRiz8i3' },
  'a SKU': { sku: 'SKU-2231-B' },
  'a price': { price: 1299, amount: '12.99 EUR' },
  'a name': { name: 'Ann Lee', author: 'Bob Ross' },
  'a date': { created_at: '2026-01-01T00:00:00Z', token_expires: '2026-01-01' },
  'a type of token': { token_type: 'Bearer', expires_in: 3600 },
  'counts of tokens': { total_tokens: 1532, max_tokens: 4096, prompt_tokens: 12 },
  'a cursor': { next_cursor: 'eyJpZCI6MTB9', next_page_token: 'CAUQAA' },
  'a hash of content': { sha256Hash: 'ecf4edb46db40b5132295c0291d62fb65d6759a9eedfa4d5d612dd5ec54a6b38' },
  'an entity tag': { etag: 'W/"33a64df551425fcc55e4d42a148795d9f25f89d4"' },
  'an integrity': { integrity: 'sha384-oqVuAfXRKap7fdgcCY5uykM6+R9GqQ8K/uxy9rx7HNQlGYl1kPzQho1wx4JwY8wC' },
  'a state of a token': { token: 'expired', session: 'active' },
  'a message on a password': { message: 'Password reset in 2 minutes', error: 'Invalid token' },
  'a message on a bearer': { message: 'Use Bearer authentication', hint: 'Basic settings' },
  'labels of a form': { labels: { username: 'User name' }, order: ['email', 'name', 'city'] },
  'names of fields': { required: ['password', 'email', 'username'], optional: ['token', 'name'] },
  'a translation in a list': { phrases: ['Password', 'Passwort'] },
  'a definition of a field': { type: 'password', label: 'Password', name: 'password', required: true },
  'a field with an empty value': { name: 'password', value: '' },
  'a value that is named by an ordinary name': { name: 'colour', value: 'midnight-blue-22' },
  'a value before its ordinary name': { value: 'midnight-blue-22', name: 'colour' },
  'a table without secrets': { columns: ['id', 'city'], rows: [[1, 'Berlin-10115']] },
  'policies for passwords': { password_min_length: 12, passwordPolicy: 'strong-12', requirePassword: true },
  'addresses of endpoints': { token_endpoint: 'https://id.shop.test/oauth/token', jwks_uri: 'https://id.shop.test/keys' },
  'an author': { author: 'author-20260101', authority: 'https://id.shop.test/v2.0' },
  'a passenger': { passenger: 'Smith-Jones 2', compass: 'north-22' },
  'a keyword': { keyword: 'blue-shirt-42', 'palabra clave': 'camisa azul', keyboard: 'de-qwertz-1' },
  'a drawing in Portuguese': { desenhar: 'casa-2026-a' },
  'a session of a conference': { session_name: 'keynote-2026', sessions: ['opening', 'closing'] },
  'a key of a translation': { key: 'checkout.title.2026' },
  'a style': { className: 'token keyword js-2', style: 'color:#ff8800' },
  'a version': { version: '1.24.3-beta.2', build: '20260101.3' },
  'a coordinate': { lat: 52.520008, lng: 13.404954, geohash: 'u33dc0cpnn7v' },
  'a file': { file: 'index-BkT9x2Qa.css', image: 'https://cdn.shop.test/img/IMG_20260101_120000.jpg' },
  'a user agent': { ua: 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36' },
  'a slug': { slug: 'the-quick-brown-fox-jumps-over-the-lazy-dog-2026' },
  'a long name in camel case': { id: 'customerBillingAddressStreetNumberField2' },
  'keys that are ids': { '7c9e6679-7425-40de-944b-e07fc1f90ae7': 1, '507f1f77bcf86cd799439011': 2, p_01HV6Z3J8K9QW2E4R5T6Y7U8I9: 3 },
  'keys that are words': { shippingAddressForBusinessCustomers: 1, 'checkout.address.billing.street': 'Quay Street 12' },
  'JSON in JSON': { data: JSON.stringify({ more: JSON.stringify({ city: 'Berlin', zip: '10115' }) }) },
};

const urls: Readonly<Record<string, string>> = {
  'a built script': 'https://shop.test/assets/app.3f2a9c1b8d.js',
  'parameters of a list': 'https://shop.test/p?page=2&sort=price_asc&currency=EUR&q=blue+shirt',
  'a cursor': 'https://shop.test/p?cursor=eyJpZCI6MTB9&after=WyIyMDI2Il0&next_page_token=CAUQAA',
  'a query without a name': 'https://shop.test/p?20260101',
  'a flag': 'https://shop.test/p?debug&compact&lang=de',
  'a size': 'https://shop.test/img@2x.png?w=300&h=200&fit=crop',
  'a voucher': 'https://shop.test/cart?code=SUMMER26&state=CA&zip=10115',
  'an order': 'https://shop.test/orders/7c9e6679-7425-40de-944b-e07fc1f90ae7/items/42',
  'a slug': 'https://shop.test/blog/how-to-reset-your-password-in-2026',
  'a section': 'https://shop.test/docs#reset-your-password',
  'names of fields': 'https://shop.test/p?fields=id,name,token_type&filter[status]=open',
  'an address in a parameter': 'https://shop.test/in?return=https%3A%2F%2Fshop.test%2Fcart%3Fpage%3D2',
  'a name of several words': 'https://shop.test/p?include_out_of_stock_products=1',
};

const html: Readonly<Record<string, string>> = {
  'a field for a password':
    '<label for="password">Password</label><input id="password" name="password" type="password" placeholder="Password">',
  'a button': '<input type="submit" name="reset_password" value="Reset password"><button name="login">Log in</button>',
  'headings of a table': '<table><tr><th>Password</th><th>Confirm password</th></tr></table>',
  'a table of rules': '<table><tr><th>Password</th><td>At least 8 characters</td></tr></table>',
  'a definition': '<dl><dt>Token</dt><dd>A piece of a text</dd></dl>',
  'highlighted code': '<pre><span class="token keyword">const</span> <span class="token number">2026</span></pre>',
  'a choice': '<select name="token_type"><option value="bearer">Bearer</option></select>',
  'a link to a form': '<a href="/forgot-password?lang=de" data-id="4711">Forgot your password?</a>',
  'a nonce': '<script nonce="r4nd0m">var a = 1;</script>',
  'a site key of a captcha': '<div class="g-recaptcha" data-sitekey="6LeIxAcTAAAAAJcZVRqyHh71UMIEGNQ_MXjiZKhI"></div>',
  styles: '<div style="background:url(/img/hero-2026.jpg);color:red">x</div><style>.token{color:#f80}</style>',
  'a sentence': '<p>Your password is weak. The token expires: 2026-01-01.</p>',
};

const texts: Readonly<Record<string, string>> = {
  'a table of goods': 'id,name,price\n1,Blue shirt,12.99\n2,Red shirt,13.99\n',
  prose: 'Dear customer, your password\nDear Ann, see you on 2026-01-01\n',
  'a log line': 'GET /products/42?page=2 200 12ms token refreshed in 120ms',
  'robots.txt': 'User-agent: *\nDisallow: /checkout\nSitemap: https://shop.test/sitemap.xml\n',
};

const headers: Readonly<Record<string, [string, string]>> = {
  'a policy': [
    'content-security-policy',
    "default-src 'self'; script-src 'nonce-r4nd0mBase64Value1234' https://cdn.shop.test; report-uri /csp",
  ],
  'an id of a request': ['x-request-id', '4bf92f3577b34da6a3ce929d0e0e4736'],
  'a group of reports': ['report-to', '{"group":"default","max_age":10886400,"endpoints":[{"url":"https://r.shop.test/d"}]}'],
  'a public key of reports': [
    'reporting-endpoints',
    'd="https://o1.ingest.shop.test/api/5/security/?sentry_key=5f4dcc3b5aa765d61d8327deb882cf99"',
  ],
  'a protocol': ['sec-websocket-protocol', 'graphql-transport-ws, v1.chat'],
  'a link': ['link', '</assets/app.3f2a9c1b8d.js>; rel=preload; as=script'],
  'a timing': ['server-timing', 'db;dur=53, app;dur=47.2'],
};

describe('redact, of what is no secret', () => {
  it('the table of harmless values has at least 60 of them', () => {
    assert.equal([json, urls, html, texts, headers].flatMap((list) => Object.keys(list)).length >= 60, true);
  });
  for (const [label, value] of Object.entries(json))
    it(`redact leaves ${label} in JSON`, () => {
      const reply = JSON.stringify(value);
      assert.equal(
        redact(ofEntry(entry('https://shop.test/', { type: 'fetch', reply }))).capture.har.log.entries[0]?.response.content.text,
        reply,
      );
    });
  for (const [label, url] of Object.entries(urls))
    it(`redact leaves ${label} in an address`, () => {
      const reply = JSON.stringify({ href: url });
      const { request, response } = redact(ofEntry(entry(url, { type: 'fetch', reply }))).capture.har.log.entries[0]!;
      assert.deepEqual([request.url, response.content.text], [url, reply]);
    });
  for (const [label, markup] of Object.entries(html))
    it(`redact leaves ${label} in HTML`, () => {
      assert.equal(redact(capture({ pages: [page({ html: markup })] })).capture.pages[0]?.html, markup);
    });
  for (const [label, text] of Object.entries(texts))
    it(`redact leaves ${label} in a text`, () => {
      const of = ofEntry(entry('https://shop.test/', { reply: text, mimeType: 'text/plain' }));
      assert.equal(redact(of).capture.har.log.entries[0]?.response.content.text, text);
    });
  for (const [label, [name, value]] of Object.entries(headers))
    it(`redact leaves ${label} in a header`, () => {
      const { capture: clean } = redact(ofEntry(entry('https://shop.test/', { headers: { [name]: value } })));
      assert.equal(clean.har.log.entries[0]?.request.headers[0]?.value, value);
    });
});
