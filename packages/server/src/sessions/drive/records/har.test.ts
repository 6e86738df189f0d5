import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { NetworkEntry } from '@berth/devtools';
import { toHar } from './har.ts';

const startedAt = new Date('2026-01-02T03:04:05.678Z');
const page = { title: 'https://ada:hunter2@shop.test/', startedAt };

const entryOf = (overrides: Partial<NetworkEntry> = {}): NetworkEntry => ({
  requestId: '1',
  startedAt,
  method: 'GET',
  url: 'https://shop.test/a?b=c&b=d',
  resourceType: 'Document',
  requestHeaders: {},
  requestBytes: 100,
  status: 200,
  statusText: 'OK',
  protocol: 'h2',
  responseHeaders: {},
  mimeType: 'text/html',
  redirectUrl: '',
  remoteAddress: null,
  fromCache: false,
  fromServiceWorker: false,
  bodyBytes: 2000,
  wireBytes: 900,
  error: null,
  timings: { blockedMs: 1.00049, dnsMs: 2, connectMs: 10, sslMs: 6, sendMs: 0.5, waitMs: 20, receiveMs: 3 },
  totalMs: 36.5,
  ...overrides,
});

const harOf = async (entries: NetworkEntry[], dropped = 0, withoutHeaders = 0) =>
  (await toHar({ since: startedAt, entries, dropped, withoutHeaders }, page)).log;
const onlyEntry = async (overrides: Partial<NetworkEntry>) => (await harOf([entryOf(overrides)])).entries[0] ?? assert.fail();

test('a HAR of a session has its creator, its page and its entries in the order of their start', async () => {
  const late = entryOf({ startedAt: new Date(startedAt.getTime() + 5), url: 'https://shop.test/late' });
  const log = await harOf([late, entryOf()], 3);
  assert.deepEqual([log.version, log.creator.name, log.comment], ['1.2', 'Berth', '3 requests were dropped.']);
  assert.equal((await harOf([], 0, 2)).comment, '2 requests lack headers, which were dropped.');
  assert.deepEqual(log.pages, [
    { id: 'page_1', title: 'https://shop.test/', startedDateTime: '2026-01-02T03:04:05.678Z', pageTimings: {} },
  ]);
  assert.deepEqual(
    log.entries.map(({ request, pageref }) => [request.url, pageref]),
    [
      ['https://shop.test/a?b=c&b=d', 'page_1'],
      ['https://shop.test/late', 'page_1'],
    ],
  );
});

test('a HAR entry holds its sizes, its query, and the sum of its times, in which TLS is not counted twice', async () => {
  const { request, response, timings, time, _resourceType } = await onlyEntry({});
  assert.deepEqual(request.queryString, [
    { name: 'b', value: 'c' },
    { name: 'b', value: 'd' },
  ]);
  assert.deepEqual(
    [request.httpVersion, response.content, response.bodySize, _resourceType],
    ['HTTP/2.0', { size: 2000, mimeType: 'text/html' }, 900, 'document'],
  );
  assert.deepEqual(timings, { blocked: 1, dns: 2, connect: 10, ssl: 6, send: 0.5, wait: 20, receive: 3 });
  assert.equal(time, 36.5);
});

test('a phase of a HAR entry that did not happen is -1 and costs no time', async () => {
  const { time, timings } = await onlyEntry({
    timings: { blockedMs: -1, dnsMs: -1, connectMs: -1, sslMs: -1, sendMs: 0, waitMs: 7, receiveMs: 1 },
  });
  assert.deepEqual([time, timings.dns, timings.ssl], [8, -1, -1]);
});

test('a HAR entry of a request that failed says how, and one from the cache took nothing from the network', async () => {
  const { response } = await onlyEntry({ status: 0, protocol: '', error: 'net::ERR_FAILED' });
  assert.equal('_error' in response && response._error, 'net::ERR_FAILED');
  assert.equal((await onlyEntry({ fromCache: true })).response.bodySize, 0);
});

test('credentials in addresses and in headers of any name are redacted in a HAR, and other values stay', async () => {
  const token = 'c3f81d5b0a9e4476b2d7c1f7';
  const entry = entryOf({
    url: `https://shop.test/reset-password/${token}?page=2&access_token=${token}`,
    redirectUrl: `/in?next=%2Fa%3Ftoken%3D${token}`,
    requestHeaders: { referer: `https://shop.test/?sid=${token}`, 'x-upstream': `Bearer ${token}`, accept: '*/*' },
    responseHeaders: { location: `/cb#id_token=${token}`, link: `</a.css?token=${token}>; rel=preload` },
  });
  const { log } = await toHar(
    { since: startedAt, entries: [entry], dropped: 0 },
    { title: `Password: ${token}`, startedAt: entry.startedAt },
  );
  assert.doesNotMatch(JSON.stringify(log), new RegExp(token));
  const [{ request } = assert.fail('no entry')] = log.entries;
  assert.equal(request.url, 'https://shop.test/reset-password/[redacted]?page=2&access_token=[redacted]');
  assert.deepEqual(request.queryString, [
    { name: 'page', value: '2' },
    { name: 'access_token', value: '[redacted]' },
  ]);
  assert.deepEqual(request.headers.at(-1), { name: 'accept', value: '*/*' });
});

test('values of cookies and credential headers are redacted in a HAR, their names stay', async () => {
  const secret = 'hunter2';
  const entry = await onlyEntry({
    url: `https://ada:${secret}@shop.test/a`,
    redirectUrl: `https://ada:${secret}@shop.test/b`,
    requestHeaders: {
      Cookie: `sid=${secret}; theme=${secret}`,
      Authorization: `Bearer ${secret}`,
      'Proxy-Authorization': secret,
      'X-API-Key': secret,
      'x-apikey': secret,
      'X-Auth-Token': secret,
      'X-CSRF-Token': secret,
      'X-Amz-Security-Token': secret,
      'X-Session-Id': secret,
      Referer: `https://ada:${secret}@shop.test/`,
      Accept: 'text/html',
    },
    responseHeaders: {
      'set-cookie': `sid=${secret}; Path=/; HttpOnly; Secure\ntheme=${secret}; Domain=shop.test`,
      location: `https://ada:${secret}@shop.test/b`,
      'www-authenticate': 'Basic',
    },
  });
  assert.ok(!JSON.stringify(entry).includes(secret));
  assert.deepEqual(
    entry.request.cookies.map(({ name, value }) => [name, value]),
    [
      ['sid', '[redacted]'],
      ['theme', '[redacted]'],
    ],
  );
  assert.deepEqual(entry.response.cookies, [
    { name: 'sid', value: '[redacted]', httpOnly: true, secure: true, path: '/' },
    { name: 'theme', value: '[redacted]', httpOnly: false, secure: false, domain: 'shop.test' },
  ]);
  assert.equal(entry.request.headers.find(({ name }) => name === 'Accept')?.value, 'text/html');
  assert.equal(entry.response.headers.find(({ name }) => name === 'www-authenticate')?.value, 'Basic');
  assert.equal(entry.response.headers.filter(({ name }) => name === 'set-cookie').length, 2);
});
