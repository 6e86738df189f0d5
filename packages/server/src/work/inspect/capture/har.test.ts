import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { EntryDetails, NetworkEntry } from '@berth/devtools';
import { toCapturedHar } from './har.ts';

const startedAt = new Date('2026-01-02T03:04:05.678Z');
const page = { pageId: 'page_1', url: 'https://shop.test/', title: 'Shop', startedAt, domContentLoadedMs: 10, loadMs: null };
const details: EntryDetails = {
  initiator: { type: 'script', url: 'https://shop.test/app.js', lineNumber: 3 },
  priority: 'High',
  frameId: null,
  documentUrl: null,
  requestBody: '{"a":1}',
  responseBody: { text: '{"b":2}', isBase64: false },
  security: { protocol: 'TLS 1.3', issuer: 'CA', subjectName: 'shop.test', validTo: 1, sanCount: 2 },
  messages: [],
  events: [],
};
const entryOf = (more: Partial<NetworkEntry> = {}): NetworkEntry => ({
  requestId: '1',
  startedAt,
  method: 'POST',
  url: 'https://shop.test/api?token=t0k3n',
  resourceType: 'Fetch',
  requestHeaders: { 'Content-Type': 'application/json', Authorization: 'Bearer t0k3n' },
  requestBytes: 100,
  status: 200,
  statusText: 'OK',
  protocol: 'h2',
  responseHeaders: { 'set-cookie': 'id=s3cret; Path=/; HttpOnly' },
  mimeType: 'application/json',
  redirectUrl: '',
  remoteAddress: null,
  fromCache: false,
  fromServiceWorker: false,
  bodyBytes: 7,
  wireBytes: 90,
  error: null,
  timings: { blockedMs: 1, dnsMs: -1, connectMs: -1, sslMs: -1, sendMs: 0, waitMs: 2, receiveMs: 3 },
  totalMs: 6,
  details,
  ...more,
});
const convert = async (entry: NetworkEntry) => (await toCapturedHar([entry], [page], () => 'page_1')).log.entries[0] ?? assert.fail();

it('a captured HAR entry has its bodies, initiator and values, which the redaction has to know', async () => {
  const entry = await convert(entryOf());
  assert.deepEqual(entry.request.postData, { mimeType: 'application/json', text: '{"a":1}' });
  assert.equal(entry.response.content.text, '{"b":2}');
  assert.deepEqual([entry._initiator, entry._priority, entry._resourceType, entry.pageref], [details.initiator, 'High', 'fetch', 'page_1']);
  assert.deepEqual(entry.response.cookies, [{ name: 'id', value: 's3cret', httpOnly: true, secure: false, path: '/' }]);
  assert.ok(entry.request.url.endsWith('t0k3n'));
});

it('captured headers are those that the site gets', async () => {
  const names = (await convert(entryOf())).request.headers.map(({ name }) => name);
  assert.deepEqual(names, ['Content-Type', 'Authorization']);
});

it('a captured body in base64 is text or left out', async () => {
  const bodyOf = async (bytes: Buffer) =>
    (await convert(entryOf({ details: { ...details, responseBody: { text: bytes.toString('base64'), isBase64: true } } }))).response.content
      .text;
  assert.equal(await bodyOf(Buffer.from('ä')), 'ä');
  assert.equal(await bodyOf(Buffer.from([0xff, 0xfe, 0])), undefined);
});
