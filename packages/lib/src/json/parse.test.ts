import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { parseInParts } from './parse.ts';
import { inTurns } from '../turns/turn-budget.ts';

const parse = (text: string, depthMax = 100): Promise<unknown> => inTurns(parseInParts(Buffer.from(text), depthMax));

describe('JSON that is parsed in parts', () => {
  it('JSON that is parsed in parts is what JSON.parse makes of it', async () => {
    await fc.assert(
      fc.asyncProperty(fc.jsonValue({ maxDepth: 6 }), fc.constantFrom('', ' ', '\t\n'), async (value, space) => {
        const text = JSON.stringify(value, null, space);
        assert.deepEqual(await parse(text), JSON.parse(text));
      }),
      { numRuns: 500 },
    );
    for (const text of [' {"a" : [ ] , "b":{ }, "__proto__": {"x":1}, "a":2 } ', '"\\u00e9\\"\\\\"', '-1.5E+3', '[[],[[]],{"":null}]'])
      assert.deepEqual(await parse(text), JSON.parse(text), text);
  });

  it('JSON that is parsed in parts is refused wherever JSON.parse refuses it', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.jsonValue({ maxDepth: 3 }),
        fc.nat(),
        fc.constantFrom('', ',', '}', ']', '"', ':', '[', '\u0001'),
        async (value, at, odd) => {
          const whole = JSON.stringify(value);
          const text = whole.slice(0, at % (whole.length + 1)) + odd + whole.slice((at % (whole.length + 1)) + (at % 2));
          const expected = await Promise.resolve()
            .then(() => JSON.parse(text) as unknown)
            .catch(() => undefined);
          if (expected === undefined) await assert.rejects(parse(text), SyntaxError, text);
          else assert.deepEqual(await parse(text), expected);
        },
      ),
      { numRuns: 2000 },
    );
    for (const text of [
      '',
      ' ',
      '[',
      '{',
      '{"a"}',
      '[1,]',
      '{,}',
      '[1 2]',
      '{"a":1,}',
      '01',
      'nul',
      '1 1',
      '"a',
      '"\\',
      '[1}',
      'constructor',
    ])
      await assert.rejects(parse(text), SyntaxError, text);
  });

  it('JSON that is parsed in parts is refused where it is nested too deep', async () => {
    await parse('['.repeat(100) + ']'.repeat(100));
    await assert.rejects(parse('['.repeat(101) + ']'.repeat(101)), /too deep/);
  });
});
