import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { decodeBody } from './content.ts';

const html = 'text/html';
const latin1 = (text: string): Buffer => Buffer.from(text, 'latin1');

describe('the text of a body', () => {
  it('uses the encoding of the byte order mark before any declaration', async () => {
    const utf16 = Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from('<p>é€', 'utf16le')]);
    assert.deepEqual(await decodeBody(utf16, 'text/html; charset=utf-8'), { text: '<p>é€', encoding: 'utf-16le' });
    assert.deepEqual(await decodeBody(Buffer.from(utf16).swap16(), html), { text: '<p>é€', encoding: 'utf-16be' });
    assert.deepEqual(await decodeBody(Buffer.from('\ufeffé'), 'text/html; charset=iso-8859-1'), { text: 'é', encoding: 'utf-8' });
  });

  it('uses the encoding of the Content-Type before that of the page', async () => {
    const body = Buffer.concat([Buffer.from('<meta charset=utf-8><p>'), Buffer.from([0xc1, 0xe0])]);
    assert.deepEqual(await decodeBody(body, 'text/html; Charset="windows-1251"'), {
      text: '<meta charset=utf-8><p>Ба',
      encoding: 'windows-1251',
    });
  });

  it('uses the encoding that the page declares', async () => {
    const body = Buffer.concat([Buffer.from('<meta charset="shift_jis"><p>'), Buffer.from([0x93, 0xfa, 0x96, 0x7b])]);
    assert.equal((await decodeBody(body, html)).text, '<meta charset="shift_jis"><p>日本');
    const xml = Buffer.concat([Buffer.from('<?xml version="1.0" encoding="koi8-r"?><a>'), Buffer.from([0xc2])]);
    assert.equal((await decodeBody(xml, 'application/xml')).text.at(-1), 'б');
  });

  it('is UTF-8 without a declaration if valid, else windows-1252', async () => {
    assert.deepEqual(await decodeBody(Buffer.from('naïve'), html), { text: 'naïve', encoding: 'utf-8' });
    assert.deepEqual(await decodeBody(latin1('na\xefve \x80'), null), { text: 'naïve €', encoding: 'windows-1252' });
    assert.deepEqual(await decodeBody(Buffer.alloc(0), null), { text: '', encoding: 'utf-8' });
  });

  it('corrects a wrong declaration', async () => {
    assert.deepEqual(await decodeBody(latin1('caf\xe9 \xfcber'), 'text/html; charset=utf-8'), {
      text: 'café über',
      encoding: 'windows-1252',
    });
    assert.deepEqual(await decodeBody(Buffer.from('café €'), 'text/html; charset=iso-8859-1'), { text: 'café €', encoding: 'utf-8' });
  });

  it('decodes UTF-8 with an invalid byte as UTF-8', async () => {
    const body = Buffer.concat([Buffer.from('größte '), Buffer.from([0xff]), Buffer.from(' Öfen')]);
    assert.deepEqual(await decodeBody(body, 'text/html; charset=utf-8'), { text: 'größte \ufffd Öfen', encoding: 'utf-8' });
  });

  it('never throws for an unknown or unsafe label', async () => {
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

  it('decodes every encoding of the standard that the runtime supports', async () => {
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
