import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readHar } from './read-har.ts';

const limits = { bodyBytesMax: 1000 };
const url = 'https://shop.test/a';
const entryOf = (more: Record<string, unknown> = {}): Record<string, unknown> => ({
  startedDateTime: '2026-01-02T03:04:05.000Z',
  time: 5,
  request: { method: 'GET', url, headers: [], cookies: [], queryString: [] },
  response: { status: 200, headers: [], cookies: [], content: { size: 2, mimeType: 'application/json', text: '{}' } },
  timings: { send: 0, wait: 1, receive: 1 },
  ...more,
});
const harOf = (...entries: unknown[]): Record<string, unknown> => ({ log: { version: '1.2', creator: {}, entries } });

function read(har: unknown) {
  const reading = readHar(har, limits);
  return 'capture' in reading ? reading.capture : assert.fail(reading.problem);
}
const entriesOf = (har: unknown) => read(har).har.log.entries;

describe('a HAR', () => {
  it('a HAR of Chrome has its initiators, types and messages', () => {
    const [entry] = entriesOf(
      harOf(
        entryOf({
          _initiator: { type: 'script', url: 'https://shop.test/app.js', lineNumber: 7, stack: { callFrames: [] } },
          _resourceType: 'websocket',
          _webSocketMessages: [
            { type: 'send', time: 1.5, opcode: 1, data: 'ping' },
            { type: 'receive', data: { no: 'text' } },
          ],
        }),
      ),
    );
    assert.deepEqual(entry?._initiator, { type: 'script', url: 'https://shop.test/app.js', lineNumber: 7 });
    assert.equal(entry?._resourceType, 'websocket');
    assert.deepEqual(entry?._webSocketMessages, [{ type: 'send', time: 1.5, opcode: 1, data: 'ping' }]);
  });

  it('a HAR is read up to the limits of its lists and texts, whatever it has', () => {
    const pairs = Array.from({ length: 500 }, (_, index) => ({ name: `n${index}`, value: 'v'.repeat(20_000) }));
    const long = 'l'.repeat(20_000);
    const messages = Array.from({ length: 900 }, () => ({ type: 'send', time: 1, opcode: 1, data: 'x' }));
    const entry = entryOf({
      request: { method: 'GET', url: `${url}?${long}`, headers: pairs, cookies: pairs, queryString: pairs },
      response: { status: 200, statusText: long, redirectURL: long, headers: pairs, cookies: pairs, content: { mimeType: long } },
      _webSocketMessages: messages,
      _eventSourceMessages: messages,
    });
    const log = { ...(harOf(entryOf(), entry)['log'] as object), pages: Array.from({ length: 300 }, () => ({ id: 'p', title: long })) };
    const { har } = read({ log });
    const { request, response, ...rest } = har.log.entries[1] ?? assert.fail();
    for (const list of [request.headers, request.cookies, request.queryString, response.headers, response.cookies])
      assert.deepEqual([list.length, list[0]?.value.length], [200, 8192]);
    assert.deepEqual([request.url.length, response.redirectURL.length], [8192, 8192]);
    assert.deepEqual([response.statusText.length, response.content.mimeType.length], [200, 200]);
    assert.equal((rest as { _webSocketMessages?: unknown[] })._webSocketMessages?.length, 500);
    assert.deepEqual([har.log.pages?.length, har.log.pages?.[0]?.title.length], [100, 1024]);
  });

  it('a HAR of Firefox has bodies in base64, and pages without titles', () => {
    const text = Buffer.from('{"ä":1}').toString('base64');
    const content = { size: 7, mimeType: 'application/json', text, encoding: 'base64' };
    const har = harOf(entryOf({ pageref: 'page_0', response: { status: 200, headers: [], content }, _securityState: 'secure' }));
    const log = {
      ...(har['log'] as object),
      pages: [{ id: 'page_0', startedDateTime: '2026-01-02T03:04:05+01:00', pageTimings: { onLoad: 9 } }],
    };
    const { har: read1 } = read({ log });
    assert.equal(read1.log.entries[0]?.response.content.text, '{"ä":1}');
    assert.deepEqual(read1.log.pages?.[0]?.pageTimings, { onContentLoad: -1, onLoad: 9 });
  });

  it('a HAR has the fields of uploads, without their files', () => {
    const part = (head: string, text: string): string => `--b\r\nContent-Disposition: form-data; name=${head}\r\n\r\n${text}\r\n`;
    const postTextOf = (text: string): string | undefined =>
      entriesOf(harOf(entryOf({ request: { method: 'POST', url, postData: { mimeType: 'multipart/form-data; boundary=b', text } } })))[0]
        ?.request.postData?.text;
    const text = `${part('"kind"', 'delivery')}${part('"file"; filename="a.txt"', 'Dear\r\n\r\nAda')}--b--\r\n`;
    assert.equal(postTextOf(text), `${part('"kind"', 'delivery')}${part('"file"; filename="a.txt"', '')}--b--\r\n`);
    assert.equal(postTextOf('Dear Ada'), undefined);
    assert.equal(postTextOf(part('"file"; filename="a.txt"', 'x'.repeat(2000)))?.includes('x\r\n'), false);
  });

  it('a HAR of Playwright has bodies in other files, and no cookies', () => {
    const [entry] = entriesOf(
      harOf(entryOf({ response: { status: 200, headers: [], content: { size: 9, mimeType: 'text/html', _file: 'a.html' } } })),
    );
    assert.equal(entry?.response.content.text, undefined);
    assert.deepEqual(entry?.response.cookies, []);
  });

  it('a HAR has its forms as the text that was sent', () => {
    const postData = { mimeType: 'application/x-www-form-urlencoded', params: [{ name: 'q', value: 'a b' }] };
    const [entry] = entriesOf(harOf(entryOf({ request: { method: 'post', url, headers: [], postData } })));
    assert.deepEqual([entry?.request.method, entry?.request.postData?.text], ['POST', 'q=a+b']);
  });

  it('a HAR without a page gets one to which all requests belong', () => {
    const { har } = read(harOf(entryOf({ pageref: 'nowhere' }), entryOf()));
    assert.deepEqual(
      har.log.pages?.map(({ id, startedDateTime }) => [id, startedDateTime]),
      [['page_1', '2026-01-02T03:04:05.000Z']],
    );
    assert.deepEqual(
      har.log.entries.map(({ pageref }) => pageref),
      ['page_1', 'page_1'],
    );
  });

  it('a HAR is sorted by time, and its URL is that of its first document', () => {
    const later = entryOf({ startedDateTime: '2026-01-02T03:04:06.000Z' });
    const document = entryOf({ response: { status: 200, content: { mimeType: 'text/html' } }, request: { url: 'https://shop.test/page' } });
    const capture = read(harOf(later, document));
    assert.equal(capture.url, 'https://shop.test/page');
    assert.deepEqual(
      capture.har.log.entries.map(({ request }) => request.url),
      ['https://shop.test/page', url],
    );
  });
});

describe('a hostile HAR', () => {
  it('a HAR has at most 5000 entries, and says how many were left out', () => {
    const { har, loss } = read(harOf(...Array.from({ length: 100_000 }, () => entryOf())));
    assert.deepEqual([har.log.entries.length, loss.droppedRequests, loss.reasons], [5000, 95_000, ['requests']]);
  });

  it('a HAR has no body beyond the limit, whatever sizes it states', () => {
    const content = { size: 2 ** 31, mimeType: 'text/html', text: 'x'.repeat(1001) };
    const { har, loss } = read(harOf(entryOf({ response: { status: 200, content } })));
    assert.equal(har.log.entries[0]?.response.content.text, undefined);
    assert.deepEqual([loss.droppedBytes, loss.reasons], [1001, ['bodies']]);
  });

  it('a HAR is read where each value has another type', () => {
    const wrong = [
      null,
      'text',
      7,
      [],
      entryOf({ request: null }),
      entryOf({ request: { url: 'javascript:alert(1)' } }),
      entryOf({ request: { url: { toString: 'x' } } }),
      entryOf({ startedDateTime: {}, time: 'NaN', timings: [1], response: { status: '200', headers: 'x', content: [] } }),
      entryOf({
        time: Infinity,
        response: { status: 1e300, headers: [{ name: 5 }, null, { name: 'a', value: ['b'] }] },
        _initiator: 'script',
      }),
    ];
    const entries = entriesOf(harOf(...wrong));
    assert.equal(entries.length, 2);
    assert.deepEqual(entries[0]?.response, {
      status: 0,
      statusText: '',
      httpVersion: '',
      cookies: [],
      headers: [],
      content: { size: 0, mimeType: '' },
      redirectURL: '',
      headersSize: -1,
      bodySize: -1,
    });
    assert.deepEqual([entries[1]?.time, entries[1]?.response.status, entries[1]?.response.headers], [0, 0, [{ name: 'a', value: '' }]]);
  });

  it('a HAR changes no prototype, and unknown fields are not taken', () => {
    const text = `{"log":{"__proto__":{"polluted":1},"entries":[{"__proto__":{"time":9},"constructor":{"prototype":{"polluted":1}},${JSON.stringify(entryOf()).slice(1)}]}}`;
    const [entry] = entriesOf(text);
    assert.equal(({} as Record<string, unknown>)['polluted'], undefined);
    assert.ok(
      entry &&
        !Object.hasOwn(entry, 'constructor') &&
        !Object.hasOwn(entry, '__proto__') &&
        Object.getPrototypeOf(entry) === Object.prototype,
    );
  });

  it('a file that is no HAR is refused with what to do', () => {
    const cases: [unknown, RegExp][] = [
      ['{', /no JSON/],
      ['['.repeat(200), /nested deeper than 100/],
      [{ log: {} }, /no list `log\.entries`/],
      [{ log: { entries: { length: 9 } } }, /no list/],
      [harOf(), /no requests/],
      [42, /no list/],
    ];
    for (const [har, problem] of cases) {
      const reading = readHar(har, limits);
      assert.match('problem' in reading ? reading.problem : '', problem);
    }
  });

  it('a HAR has only texts that can be stored', () => {
    const [entry] = entriesOf(
      harOf(entryOf({ request: { url, headers: [{ name: 'x', value: 'a\u0000b\ud800' }] }, response: { content: { text: '\u0000' } } })),
    );
    assert.equal(entry?.request.headers[0]?.value, 'a\ufffdb\ufffd');
    assert.equal(entry?.response.content.text, '\ufffd');
  });
});
