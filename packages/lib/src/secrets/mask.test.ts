import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { maskHeader, maskText, maskTexts, maskUrl } from './mask.ts';

const token = 'c3f81d5b0a9e4476b2d7c1f7';
const random = 'aZ7hQ2mX9vT4kLp8RwY3nB6cD1eF5gH0jQ9';

describe('maskUrl', () => {
  const addresses: [string, string][] = [
    [`https://shop.test/?page=2&token=${token}`, 'https://shop.test/?page=2&token=…'],
    [`/in?next=%2Fa%3Faccess_token%3D${token}&x=1`, '/in?next=%2Fa%3Faccess_token%3D…&x=1'],
    [`https://shop.test/reset-password/${token}/now`, 'https://shop.test/reset-password/…/now'],
    [`https://shop.test/files/${random}/a.png`, 'https://shop.test/files/…/a.png'],
    [`https://shop.test/cb#id_token=${token}&type=x`, 'https://shop.test/cb#id_token=…&type=x'],
    [`https://shop.test/?d=${encodeURIComponent(`{"password":"${token}"}`)}`, 'https://shop.test/?d=%7B%22password%22%3A%22…%22%7D'],
    ['https://shop.test/loaves/rye-bread?sort=price&cursor=abc', 'https://shop.test/loaves/rye-bread?sort=price&cursor=abc'],
    ['https://shop.test/by?email=ada%40example.com', 'https://shop.test/by?email=ada%40example.com'],
  ];
  for (const [url, shown] of addresses) it(`maskUrl shows ${url} as ${shown}`, () => assert.equal(maskUrl(url, '…'), shown));

  it('maskUrl shows nothing of an address that it cannot parse', () => {
    const shown = maskUrl(`https://shop.test/?q=${'a'.repeat(100_000)}&token=${token}`, '…');
    assert.ok(shown.length < 70_000 && shown.endsWith('…'));
  });
});

describe('maskHeader', () => {
  it('maskHeader replaces credentials under any name, and leaves what servers and browsers write', () => {
    assert.equal(maskHeader('x-upstream', `Bearer ${token}`, '…'), 'Bearer …');
    assert.equal(maskHeader('link', `</a.css?token=${token}>; rel=preload`, '…'), '</a.css?token=…>; rel=preload');
    assert.equal(maskHeader('etag', `"${token}"`, '…'), `"${token}"`);
    assert.equal(maskHeader('content-type', 'text/html; charset=utf-8', '…'), 'text/html; charset=utf-8');
  });
});

describe('maskTexts', () => {
  it('maskTexts masks every text of a value but its ids', () => {
    const value = {
      message: `GET https://shop.test/?token=${token} failed`,
      list: [{ at: 1, error: `Bearer ${token}` }],
      tab_id: token,
      none: null,
    };
    assert.deepEqual(maskTexts(value, '…'), {
      message: 'GET https://shop.test/?token=… failed',
      list: [{ at: 1, error: 'Bearer …' }],
      tab_id: token,
      none: null,
    });
  });
});

describe('maskText', () => {
  it('maskText replaces credentials of a line, and leaves its words', () => {
    assert.equal(maskText(`failed: token=${token} for ada@example.com`, '…'), 'failed: token=… for ada@example.com');
    assert.equal(maskText('Your password is wrong.', '…'), 'Your password is wrong.');
  });
});
