import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { redactHeader, redactText, redactUrl } from './redact.ts';

const token = 'c3f81d5b0a9e4476b2d7c1f7';
const random = 'aZ7hQ2mX9vT4kLp8RwY3nB6cD1eF5gH0jQ9';

describe('redactUrl', () => {
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
  for (const [url, shown] of addresses)
    it(`redactUrl shows ${url} as ${shown}`, () => assert.equal(redactUrl(url, { placeholder: '…' }), shown));

  it('redactUrl shows nothing of an address that it cannot parse', () => {
    const shown = redactUrl(`https://shop.test/?q=${'a'.repeat(100_000)}&token=${token}`, { placeholder: '…' });
    assert.ok(shown.length < 70_000 && shown.endsWith('…'));
  });
});

describe('redactHeader', () => {
  it('redactHeader replaces credentials under any name, and leaves what servers and browsers write', () => {
    assert.equal(redactHeader('x-upstream', `Bearer ${token}`, { placeholder: '…' }), 'Bearer …');
    assert.equal(redactHeader('link', `</a.css?token=${token}>; rel=preload`, { placeholder: '…' }), '</a.css?token=…>; rel=preload');
    assert.equal(redactHeader('etag', `"${token}"`, { placeholder: '…' }), `"${token}"`);
    assert.equal(redactHeader('content-type', 'text/html; charset=utf-8', { placeholder: '…' }), 'text/html; charset=utf-8');
  });
});

describe('redactText', () => {
  it('redactText replaces credentials of a line, and leaves its words', () => {
    assert.equal(redactText(`failed: token=${token} for ada@example.com`, { placeholder: '…' }), 'failed: token=… for ada@example.com');
    assert.equal(redactText('Your password is wrong.', { placeholder: '…' }), 'Your password is wrong.');
  });
});

describe('the rules of a redaction', () => {
  const placeholder = '…';

  it('no rule shows user and password of an address', () => {
    for (const rule of ['credentials', 'values', 'bare', 'names'] as const)
      for (const url of ['https://ada:hunter2@shop.test/a', 'https://ada:hunt@er2@shop.test/a', 'https://ada hunter2@shop.test/a']) {
        // What a caller sent is read as a text.
        if (rule !== 'names' || !url.includes(' '))
          assert.doesNotMatch(redactUrl(url, { placeholder, rule }), /ada|hunt|er2/, `${rule} ${url}`);
        if (!url.includes(' ')) assert.doesNotMatch(redactText(`see ${url} now`, { placeholder, rule }), /ada|hunt|er2/, `${rule} ${url}`);
      }
  });

  it('every rule removes what is named as a secret from an address, and its page stays', () => {
    for (const rule of ['credentials', 'values', 'bare', 'names'] as const)
      for (const pair of [`access_token=${token}`, `X-Amz-Signature=${token}`, `api_key=${token}`, `passwort=${token}`]) {
        const shown = redactUrl(`https://shop.test/a?page=2&${pair}`, { placeholder, rule });
        assert.ok(shown.startsWith('https://shop.test/a') && !shown.includes(token), `${rule} ${shown}`);
      }
  });

  it('the rule of names removes any value, also one that cannot be a secret, and only by its name', () => {
    const rule = { placeholder: '[secret]', rule: 'names' } as const;
    assert.equal(redactUrl('http://a.test/?token=no&key=1&q=hunter2', rule), 'http://a.test/?token=[secret]&key=[secret]&q=hunter2');
    assert.equal(redactText(`brt_live_x and %62rt brt%5Fadmin_%41`, rule), '[secret] and %62rt [secret]');
  });

  it('the rule of own addresses removes the token behind /c/, whatever it is, and keys of this service', () => {
    const rule = { placeholder: '[secret]', rule: 'own' } as const;
    assert.equal(redactUrl('/c/hunter2/json/version', rule), '/c/[secret]/json/version');
    assert.equal(redactUrl('//%63/hunter2', rule), '//%63/[secret]');
    assert.equal(redactUrl('/v1/session/brt_live_abc/x', rule), '/v1/session/[secret]/x');
    assert.equal(redactUrl('/v1/session/ses_01hv6z3j8k9qw2e4r5t6y7u8i9', rule), '/v1/session/ses_01hv6z3j8k9qw2e4r5t6y7u8i9');
  });

  it('the rule of bare texts leaves neither a query nor what may be an id, also of a relative address', () => {
    const rule = { placeholder, rule: 'bare', charsMax: 80 } as const;
    assert.equal(redactText('<script src="/cdn/x.js?ray=7a8b">', rule), '<script src="/cdn/x.js">');
    assert.equal(redactText('Reference 18f2c0ffee12ab', rule), 'Reference …');
    assert.equal(redactText('//ada:hunter2@a.test/b', rule), '//a.test/b');
  });

  it('a key of this service is a credential in any text, address and header', () => {
    const key = `brt_live_${random}`;
    assert.equal(redactText(`called with ${key} today`, { placeholder }), 'called with … today');
    assert.equal(redactUrl(`https://shop.test/a/${key}/b`, { placeholder }), 'https://shop.test/a/…/b');
    assert.equal(redactHeader('x-note', key, { placeholder }), placeholder);
  });

  it('headers of credentials are hidden whatever their value, and the path of HTTP/2 is an address', () => {
    for (const name of ['Cookie', 'X-Auth', 'sec-session-id', 'X-Passwd', 'Proxy-Authorization'])
      assert.equal(redactHeader(name, 'no', { placeholder }), placeholder, name);
    for (const name of [':authority', 'WWW-Authenticate', 'access-control-allow-credentials'])
      assert.equal(redactHeader(name, 'shop.test', { placeholder }), 'shop.test', name);
    assert.equal(redactHeader(':path', `/a?token=${token}&b=1`, { placeholder }), '/a?token=…&b=1');
  });

  it('a result has the characters that were asked for, and says that it was cut', () => {
    for (const rule of ['credentials', 'values', 'bare'] as const) {
      const shown = redactUrl(`https://shop.test/${'a/'.repeat(5000)}`, { placeholder, rule, charsMax: 100 });
      assert.ok(shown.length === 100 && shown.endsWith('…'), `${rule} ${shown}`);
    }
  });
});
