import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Entry } from 'har-format';
import type { Capture } from './capture.ts';
import { createReportInput, parseJson, toExchangeUrl } from './exchange.ts';
import type { Secret } from './secret.ts';

const entry = (url: string, fields: Partial<Entry> = {}): Entry => ({
  startedDateTime: '2026-01-01T00:00:00.000Z',
  time: 1,
  request: { method: 'GET', url, httpVersion: 'h2', cookies: [], headers: [], queryString: [], headersSize: -1, bodySize: 0 },
  response: {
    status: 200,
    statusText: '',
    httpVersion: 'h2',
    cookies: [],
    headers: [
      { name: 'Content-Type', value: 'application/json; charset=utf-8' },
      { name: 'Set-Cookie', value: 'a=1' },
      { name: 'set-cookie', value: 'b=2' },
    ],
    content: { size: 2, mimeType: 'application/json', text: '{"a":[1]}' },
    redirectURL: '',
    headersSize: -1,
    bodySize: 2,
  },
  cache: {},
  timings: { wait: 1, receive: 0 },
  ...fields,
});

const capture = (entries: Entry[]): Capture => ({
  url: 'https://www.shop.test/',
  har: { log: { version: '1.2', creator: { name: 'test', version: '1' }, entries } },
  pages: [],
  cookies: [],
  probes: [],
  actions: [],
  loss: { droppedRequests: 0, droppedBytes: 0, reasons: [] },
});

const redactions = { headers: 0, bodyKeys: 0, bodyValues: 0 };

describe('toExchangeUrl', () => {
  it('toExchangeUrl reads a URL with placeholders in every part', () => {
    const url = toExchangeUrl(
      'https://{{username_1}}:{{password_1}}@API.shop.test:8443/u/{{token_1}}?key={{api_key_1}}&q=a+b#t={{token_2}}',
    );
    assert.equal(url.origin, 'https://api.shop.test:8443');
    assert.equal(url.site, 'shop.test');
    assert.equal(url.path, '/u/{{token_1}}');
    assert.deepEqual(url.query, [
      ['key', '{{api_key_1}}'],
      ['q', 'a b'],
    ]);
    assert.equal(url.fragment, 't={{token_2}}');
  });

  it('toExchangeUrl reads what is no URL without throwing', () => {
    for (const href of ['', 'data:text/plain,x', 'about:blank', 'https://', 'http://[', '//x', 'blob:https://a/b'])
      assert.equal(toExchangeUrl(href).path.startsWith('/'), true);
  });

  it('toExchangeUrl has the host where there is no registrable domain', () => {
    assert.equal(toExchangeUrl('http://127.0.0.1:8080/a').site, '127.0.0.1');
    assert.equal(toExchangeUrl('http://localhost/a').site, 'localhost');
  });
});

describe('createReportInput', () => {
  it('createReportInput parses a body once, and joins repeated headers', () => {
    const { exchanges } = createReportInput({ capture: capture([entry('https://api.shop.test/a')]), secrets: [], redactions });
    const [first] = exchanges;
    assert.equal(first?.id, 'r0');
    assert.equal(first.resourceType, 'fetch');
    assert.equal(first.isFirstParty, true);
    assert.deepEqual(first.responseJson, { a: [1] });
    assert.equal(first.responseJson, first.responseJson);
    assert.equal(first.responseHeaders.get('set-cookie'), 'a=1\nb=2');
  });

  it("createReportInput counts a host that receives the site's token to the first party, and no other", () => {
    const urls = ['https://shop.test/login', 'https://shop-api.example/a', 'https://tracker.example.net/t'];
    const secret: Secret = {
      placeholder: '{{token_1}}',
      kind: 'token',
      length: 20,
      jwt: null,
      locations: [
        { position: 'response_body', entryIndex: 0, name: 'token' },
        { position: 'request_header', entryIndex: 1, name: 'authorization' },
        { position: 'url_query', entryIndex: 2, name: 't' },
      ],
    };
    const { exchanges } = createReportInput({ capture: capture(urls.map((url) => entry(url))), secrets: [secret], redactions });
    assert.deepEqual(
      exchanges.map(({ isFirstParty }) => isFirstParty),
      [true, true, false],
    );
  });
});

describe('parseJson', () => {
  it('parseJson reads objects and arrays only, also behind a guard', () => {
    assert.deepEqual(parseJson(")]}',\n[1]"), [1]);
    assert.equal(parseJson('1'), undefined);
    assert.equal(parseJson('{"a":'), undefined);
    assert.deepEqual(Object.keys(parseJson('{"__proto__":1}') ?? {}), ['__proto__']);
  });
});
