import assert from 'node:assert/strict';
import { describe, it, test } from 'node:test';
import { entryOf } from '../../../testing/recordings.ts';
import { redactText, redactUrl } from '@berth/lib/secrets/redact/redact.ts';
import { toHar } from '../../sessions/drive/drive.ts';
import { recorded, redactData } from './redact.ts';

const addresses: [address: string, shown: string][] = [
  ['https://shop.test/cart', 'https://shop.test/cart'],
  ['https://ada:hunter2@shop.test/', 'https://shop.test/'],
  ['https://shop.test/?q=hunter2&token=hunter2', 'https://shop.test/?q=…&token=…'],
  ['https://shop.test/?hunter2', 'https://shop.test/?…'],
  ['https://shop.test/?a=1?b=hunter2', 'https://shop.test/?a=…'],
  ['https://shop.test/back#access_token=hunter2', 'https://shop.test/back#…'],
  ['https://shop.test/#/?a=hunter2', 'https://shop.test/#…'],
  ['https://shop.test/@ada', 'https://shop.test/@ada'],
  ['https://shop.test/?', 'https://shop.test/?'],
  ['data:text/html,hunter2', 'data:…'],
  ['javascript:login("hunter2")', 'javascript:…'],
  ['blob:https://shop.test/0d1c-hunter2', 'blob:…'],
  ['about:blank', 'about:blank'],
  ['', ''],
  ['no address?a=hunter2', 'no address?a=…'],
];

describe('an address on a timeline', () => {
  for (const [address, redacted] of addresses)
    test(`the address ${address || 'nothing'} on a timeline is shown as ${redacted || 'nothing'}`, () =>
      assert.equal(redactUrl(address, recorded), redacted));

  it('an address on a timeline is cut where it is very long', () =>
    assert.ok(String(redactData({ url: `https://shop.test/${'a'.repeat(10_000)}` })['url']).length <= 1024));
});

describe('the data of a timeline event', () => {
  it('the data of a timeline event has no query values in the addresses of a text', () => {
    const text = 'GET "https://ada:hunter2@api.test/v1?key=hunter2#hunter2" failed, see wss://live.test/?t=hunter2.';
    assert.equal(redactText(text, recorded), 'GET "https://api.test/v1?key=…#…" failed, see wss://live.test/?t=…');
  });

  it('the data of a timeline event is cut wherever it stands, and keeps what is no text', () => {
    const data = redactData({
      url: 'http://a.test/?b=hunter2',
      final_url: '?b=hunter2',
      count: 3,
      none: null,
      list: ['http://a.test/?b=hunter2'],
      in: { url: '?c=d' },
    });
    assert.deepEqual(data, {
      url: 'http://a.test/?b=…',
      final_url: '?b=…',
      count: 3,
      none: null,
      list: ['http://a.test/?b=…'],
      in: { url: '?c=…' },
    });
    assert.equal(redactText('a'.repeat(5000), recorded).length, 2000);
  });

  it('the data of a timeline event can be written as UTF-8 also where a page sent half a character', () => {
    assert.equal(redactText('half \ud83d', recorded), 'half \ufffd');
  });
});

describe('a request in the HAR of a recording', () => {
  it('a request in the HAR of a recording has no query values, neither in its address nor in its headers', async () => {
    const entry = entryOf({
      url: 'https://shop.test/?q=hunter2',
      redirectUrl: 'https://shop.test/?r=hunter2',
      requestHeaders: { referer: 'https://shop.test/?s=hunter2', ':path': '/?q=hunter2' },
      responseHeaders: { location: '/?r=hunter2', link: '<https://shop.test/?l=hunter2>; rel="next"' },
    });
    const { log } = await toHar(
      { since: entry.startedAt, entries: [entry], dropped: 0, redaction: recorded },
      { title: entry.url, startedAt: entry.startedAt },
    );
    assert.doesNotMatch(JSON.stringify(log), /hunter2/);
    const { request } = log.entries[0] ?? assert.fail();
    const path = request.headers.find(({ name }) => name === ':path')?.value;
    assert.deepEqual([request.url, path], ['https://shop.test/?q=…', '/?q=…']);
  });
});
