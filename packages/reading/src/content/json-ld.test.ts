import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isJsonLd, parseJsonLd } from './json-ld.ts';

describe('parseJsonLd', () => {
  it('parseJsonLd reads what generators of pages leave around the JSON and in it', () => {
    for (const source of [
      '{"@type":"Product"}',
      '<!-- {"@type":"Product"} -->',
      '// <![CDATA[\n{"@type":"Product"}\n// ]]>',
      '/* a */ {"@type":"Product",} ;',
    ])
      assert.deepEqual(parseJsonLd(source), { '@type': 'Product' }, source);
    assert.deepEqual(parseJsonLd('{"a":"b\nc // d"}'), { a: 'b c // d' });
  });

  it('parseJsonLd refuses what is no JSON, and what is nested too deep to be copied', () => {
    for (const source of ['', '{"a":', 'a', '['.repeat(200) + ']'.repeat(200)]) assert.equal(parseJsonLd(source), undefined);
  });

  it('isJsonLd takes the type of a script with parameters, and no other', () => {
    assert.deepEqual(
      ['application/ld+json', ' Application/LD+JSON ; charset=utf-8', 'application/ld+json5', 'application/json', undefined].map(isJsonLd),
      [true, true, false, false, false],
    );
  });
});
