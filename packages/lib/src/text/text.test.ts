import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { cutText, isStorableText, toStorableText, toStorableValue } from './text.ts';

const hostile = fc.string({ unit: fc.constantFrom('a', 'é', '\ud800', '\udc00', '\u{1f600}', '\0', '\n') });

describe('cut text', () => {
  it('cut text is storable, and no longer than allowed', () => {
    fc.assert(
      fc.property(hostile, fc.nat(40), (text, charsMax) => {
        const cut = cutText(text, charsMax);
        assert.ok(isStorableText(cut));
        assert.ok(cut.length <= charsMax);
      }),
    );
  });

  it('cut text is the text itself where that is short enough and storable', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => fc.pre(isStorableText(text)) ?? assert.equal(cutText(text, 1000), text)),
    );
  });

  it('cut text ends before a surrogate pair that would be cut', () => {
    assert.equal(cutText('a\u{1f600}b', 2), 'a');
    assert.equal(cutText('a\u{1f600}b', 3), 'a\u{1f600}');
    assert.equal(cutText(`${'a'.repeat(20)}\u{1f600}`, 21), 'a'.repeat(20));
  });

  it('cut text does not keep the text that it was cut from in memory', () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const long = (index: number): string => Buffer.alloc(2 * 1024 ** 2, `${index} http://a.test/`).toString('latin1');
    collect();
    const before = process.memoryUsage().heapUsed;
    const cuts = Array.from({ length: 50 }, (_, index) => cutText(long(index), 8192));
    collect();
    const retained = process.memoryUsage().heapUsed - before;
    assert.equal(cuts.length, 50);
    assert.ok(retained < 10 * 1024 ** 2, `${retained} bytes are retained`);
  });
});

describe('storable text', () => {
  it('storable text has U+FFFD instead of NUL and of half a surrogate pair', () => {
    assert.equal(toStorableText('a\ud800b\0\udc00\u{1f600}'), 'a\ufffdb\ufffd\ufffd\u{1f600}');
  });

  it('storable JSON has replaced keys and values', () => {
    const value = JSON.parse('{"\\ud800":["\\u0000",{"a":"\\udfff"},1,null,true]}') as unknown;
    assert.deepEqual(toStorableValue(value), { '\ufffd': ['\ufffd', { a: '\ufffd' }, 1, null, true] });
  });
});
