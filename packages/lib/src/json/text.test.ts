import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { JsonTooLongError, toJsonText } from './text.ts';

const long = (unit: string): string => unit.repeat(Math.ceil(2_500_000 / unit.length));

describe('the JSON of a response', () => {
  it('the JSON of a response is what JSON.stringify makes of it, and a newline', async () => {
    await fc.assert(
      fc.asyncProperty(fc.jsonValue(), async (value) => assert.equal(await toJsonText(value), `${JSON.stringify(value)}\n`)),
      { numRuns: 200 },
    );
  });

  it('the JSON of a response is that of JSON.stringify with long strings, whatever is in and beside them', async () => {
    for (const unit of ['a', '"\\\n', '\u{1f600}', 'x\u{1f600}', '\ud800', '\udc00a', '\u0000'])
      for (const value of [
        long(unit),
        { html: long(unit), none: undefined, when: new Date(0), raw: { data: long(unit), bytes: 3, name: null }, list: [1, undefined] },
        { a: { b: { c: { d: long(unit) } } } },
        [long(unit)],
        { results: Array.from({ length: 4000 }, (_, index) => ({ index, text: unit, none: undefined, list: [[index], unit] })) },
        Array.from({ length: 9000 }, (_, index) => (index % 1000 === 0 ? [unit.repeat(30_000), undefined] : index)),
        [
          Array.from({ length: 30_000 }, () => undefined),
          {},
          [],
          new Date(0),
          Object.fromEntries(Array.from({ length: 9000 }, (_, i) => [`${unit}${i}`, i % 2 ? i : undefined])),
        ],
      ])
        assert.ok((await toJsonText(value)) === `${JSON.stringify(value)}\n`, JSON.stringify(unit));
  });

  it('the JSON of a response is refused where it is longer than its limit', async () => {
    for (const value of ['x'.repeat(2000), Array<string>(100_000).fill('x')])
      await assert.rejects(toJsonText(value, 1000), JsonTooLongError);
    assert.equal(await toJsonText(['x'], 5), '["x"]\n');
  });
});
