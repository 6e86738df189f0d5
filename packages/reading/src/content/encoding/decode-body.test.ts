import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { decodeBody } from '../content.ts';

const html = 'text/html';
const russianText = 'Добро пожаловать на наш сайт';
const russian = Buffer.from('c4eee1f0ee20efeee6e0ebeee2e0f2fc20ede020ede0f820f1e0e9f2', 'hex');
/** Encoding, bytes, and what they say. */
const undeclared: [string, Buffer, string][] = [
  ['shift_jis', Buffer.from('8fa4956988ea97978379815b835782d682e682a482b182bb', 'hex'), '商品一覧ページへようこそ'],
  ['euc-jp', Buffer.from('c6fccbdcb8eca4cea5dba1bca5e0a5daa1bca5b8', 'hex'), '日本語のホームページ'],
  ['gbk', Buffer.from('bbb6d3adb7c3cecaced2c3c7b5c4cdf8d5be', 'hex'), '欢迎访问我们的网站'],
  ['big5', Buffer.from('c577aaefa5fac17ba7daadccaababaf4afb8', 'hex'), '歡迎光臨我們的網站'],
  ['euc-kr', Buffer.from('c7d1b1b9beee20c0a5c6e4c0ccc1f6', 'hex'), '한국어 웹페이지'],
  ['koi8-r', Buffer.from('eecfd7cfd3d4c920c920d0cfc7cfc4c1', 'hex'), 'Новости и погода'],
  ['windows-1251', Buffer.from('c2f1e520eff0e0e2e020e7e0f9e8f9e5edfb', 'hex'), 'Все права защищены'],
  ['iso-8859-2', Buffer.from('50f8ed6c69b920be6c75bb6f75e86bfd206bf9f2', 'hex'), 'Příliš žluťoučký kůň'],
  ['windows-1250', Buffer.from('5a61bff3b3e62067ea9c6cb9206a619ff1', 'hex'), 'Zażółć gęślą jaźń'],
  ['windows-1252', Buffer.from('53e36f205061756c6f2c20696e666f726d61e7f56573', 'hex'), 'São Paulo, informações'],
  ['windows-1253', Buffer.from('cae1ebe7ecddf1e120eafcf3ece5', 'hex'), 'Καλημέρα κόσμε'],
  [
    'windows-1254',
    Buffer.from('486ffe2067656c64696e697a2c20fc6372657473697a206b6172676f2066fd72736174fd', 'hex'),
    'Hoş geldiniz, ücretsiz kargo fırsatı',
  ],
  ['windows-1255', Buffer.from('f9ece5ed20f2e5eced', 'hex'), 'שלום עולם'],
  ['windows-1256', Buffer.from('e3d1cdc8c720c8c7e1dac7e1e3', 'hex'), 'مرحبا بالعالم'],
  ['windows-874', Buffer.from('cac7d1cab4d5aad2c7e2c5a1', 'hex'), 'สวัสดีชาวโลก'],
];

const latin1 = (text: string): Buffer => Buffer.from(text, 'latin1');

describe('the text of a body', () => {
  it('a body is decoded with the encoding of the byte order mark before any declaration', async () => {
    const utf16 = Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from('<p>é€', 'utf16le')]);
    assert.deepEqual(await decodeBody(utf16, 'text/html; charset=utf-8'), { text: '<p>é€', encoding: 'utf-16le' });
    assert.deepEqual(await decodeBody(Buffer.from(utf16).swap16(), html), { text: '<p>é€', encoding: 'utf-16be' });
    assert.deepEqual(await decodeBody(Buffer.from('\ufeffé'), 'text/html; charset=iso-8859-1'), { text: 'é', encoding: 'utf-8' });
  });

  it('a body is decoded with the encoding of the Content-Type before that of the page', async () => {
    const body = Buffer.concat([Buffer.from('<meta charset=utf-8><p>'), Buffer.from([0xc1, 0xe0])]);
    assert.deepEqual(await decodeBody(body, 'text/html; Charset="windows-1251"'), {
      text: '<meta charset=utf-8><p>Ба',
      encoding: 'windows-1251',
    });
  });

  it('a body is decoded with the encoding that the page declares', async () => {
    const body = Buffer.concat([Buffer.from('<meta charset="shift_jis"><p>'), Buffer.from([0x93, 0xfa, 0x96, 0x7b])]);
    assert.equal((await decodeBody(body, html)).text, '<meta charset="shift_jis"><p>日本');
    const xml = Buffer.concat([Buffer.from('<?xml version="1.0" encoding="koi8-r"?><a>'), Buffer.from([0xc2])]);
    assert.equal((await decodeBody(xml, 'application/xml')).text.at(-1), 'б');
  });

  it('a body without a declaration is UTF-8 if valid, else windows-1252', async () => {
    assert.deepEqual(await decodeBody(Buffer.from('naïve'), html), { text: 'naïve', encoding: 'utf-8' });
    assert.deepEqual(await decodeBody(latin1('na\xefve \x80'), null), { text: 'naïve €', encoding: 'windows-1252' });
    assert.equal((await decodeBody(latin1('\xa9 2020, \xa35'), html)).text, '© 2020, £5');
    assert.deepEqual(await decodeBody(Buffer.alloc(0), null), { text: '', encoding: 'utf-8' });
  });

  it('a body with a wrong declaration is decoded with the right encoding', async () => {
    assert.deepEqual(await decodeBody(latin1('caf\xe9 \xfcber'), 'text/html; charset=utf-8'), {
      text: 'café über',
      encoding: 'windows-1252',
    });
    assert.deepEqual(await decodeBody(Buffer.from('café €'), 'text/html; charset=iso-8859-1'), { text: 'café €', encoding: 'utf-8' });
  });

  it('a body in UTF-8 with an invalid byte is decoded as UTF-8', async () => {
    const body = Buffer.concat([Buffer.from('größte '), Buffer.from([0xff]), Buffer.from(' Öfen')]);
    assert.deepEqual(await decodeBody(body, 'text/html; charset=utf-8'), { text: 'größte \ufffd Öfen', encoding: 'utf-8' });
  });

  it('an undeclared encoding is detected in short texts of many languages', async () => {
    for (const [encoding, bytes, text] of undeclared) {
      const page = Buffer.concat([Buffer.from('<!doctype html><title>T</title><p>'), bytes]);
      for (const [body, type] of [
        [page, html],
        [bytes, 'text/plain'],
        [bytes, null],
        [bytes, 'text/csv'],
        [page, 'text/html; charset=klingon'],
        [page, 'text/html; charset=utf-8'],
      ] as const) {
        const decoded = await decodeBody(body, type);
        assert.equal(decoded.text.endsWith(text), true, `${encoding} as ${type}: ${decoded.encoding} ${decoded.text.slice(-30)}`);
      }
    }
    const json = Buffer.concat([Buffer.from('{"a":"'), russian, Buffer.from('"}')]);
    assert.deepEqual(JSON.parse((await decodeBody(json, 'application/json')).text), { a: russianText });
  });

  it('an undeclared encoding is detected in text that begins after much ASCII, and after one stray byte', async () => {
    const script = Buffer.from(`<script>${'x = 1;\n'.repeat(100_000)}</script>`);
    for (const body of [
      [script, russian],
      [latin1('<!-- \xa9 -->'), script, russian],
    ]) {
      const { text } = await decodeBody(Buffer.concat(body), html);
      assert.equal(text.endsWith(russianText), true, text.slice(-40));
    }
    // Two-byte characters whose second byte is ASCII, across the places where samples are taken.
    const kanji = Buffer.from([0x83, 0x5c, 0x95, 0x5c, 0x94, 0x5c]);
    for (let shift = 0; shift < 2; shift += 1) {
      const body = Buffer.concat([
        Buffer.from('a'.repeat(shift)),
        ...Array.from({ length: 2000 }, () => kanji),
        Buffer.alloc(2000, 'b'),
        kanji,
      ]);
      assert.match((await decodeBody(body, html)).text, /^a?(ソ表能)+b+ソ表能$/);
    }
  });

  it('the encoding of a body is read from a declaration anywhere in the head, and from none after it', async () => {
    const meta = '<meta http-equiv="Content-Type" content="text/html; charset=windows-1251">';
    const long = [`<!--${'x'.repeat(1500)}<p>-->`, `<script>${'"<body>";'.repeat(300)}</script>`, `<style>${'p{} '.repeat(3000)}</style>`];
    for (const before of long) {
      const body = Buffer.concat([Buffer.from(`<!doctype html><html><head>${before}${meta}<title>`), Buffer.from([0xc1, 0xe0])]);
      assert.equal((await decodeBody(body, html)).text.slice(-2), 'Ба', before.slice(0, 20));
    }
    for (const after of [`</head><body>${'x'.repeat(1500)}`, `<p>${'x'.repeat(1500)}`]) {
      const body = Buffer.concat([
        Buffer.from(`<title>T</title>${after}<meta charset=windows-1251>`),
        latin1('d\xe9j\xe0 vu, caf\xe9 cr\xe8me'),
      ]);
      assert.equal((await decodeBody(body, html)).text.slice(-19), 'déjà vu, café crème');
    }
  });

  it('the encoding of a body is read from declarations of XML, and not from text that only contains markup', async () => {
    const xhtml = Buffer.concat([Buffer.from('<?xml version="1.0" encoding="windows-1251"?><p>'), Buffer.from([0xc1, 0xe0])]);
    for (const type of ['application/xhtml+xml', 'text/xml', 'application/rss+xml', html])
      assert.equal((await decodeBody(xhtml, type)).encoding, 'windows-1251', type);
    const source = Buffer.from('<meta charset=utf-16be><meta charset=shift_jis>é');
    assert.equal((await decodeBody(source, 'text/plain')).text.at(-1), 'é');
  });

  it('a document declared as utf-16 is read as UTF-8 and x-user-defined as windows-1252, and nothing is shown of unsafe encodings', async () => {
    assert.equal((await decodeBody(Buffer.from('<meta charset=utf-16>é'), html)).text.at(-1), 'é');
    assert.equal((await decodeBody(latin1('<meta charset=x-user-defined>\xe9'), html)).text.at(-1), 'é');
    for (const label of ['iso-2022-kr', 'hz-gb-2312', 'iso-2022-cn'])
      assert.equal((await decodeBody(Buffer.from('<script>'), `text/html; charset=${label}`)).text, '\ufffd', label);
  });

  it('decoding never throws for an unknown or unsafe label', async () => {
    for (const label of [
      'klingon',
      '',
      '"',
      'iso-2022-kr',
      'hz-gb-2312',
      'x-user-defined',
      'utf-7',
      '\0',
      'utf-8;charset=latin1',
      "'utf-16'",
    ])
      assert.equal(typeof (await decodeBody(Buffer.from('<p>plain'), `text/html; charset=${label}`)).text, 'string');
    assert.equal((await decodeBody(Buffer.from('é'), 'text/html; charset=klingon')).text, 'é');
  });

  it('decoding supports every encoding of the standard that the runtime supports', async () => {
    for (const label of [
      'big5',
      'euc-jp',
      'euc-kr',
      'gb18030',
      'gbk',
      'iso-8859-2',
      'iso-8859-15',
      'koi8-u',
      'macintosh',
      'windows-874',
      'x-mac-cyrillic',
      'iso-2022-jp',
    ])
      assert.deepEqual(await decodeBody(Buffer.from('plain'), `text/plain; charset=${label}`), { text: 'plain', encoding: label });
  });
});
