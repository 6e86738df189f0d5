import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { mapTexts } from './map-texts.ts';

const loud = (text: string): string => text.toUpperCase();

describe('mapTexts', () => {
  it('mapTexts maps names and texts of a value of any shape, and leaves what is no text', () => {
    const at = new Date(0);
    assert.deepEqual(mapTexts({ a: ['b', { c: 'd' }, 7, null, at] }, loud), { A: ['B', { C: 'D' }, 7, null, at] });
  });

  it('mapTexts names the field of a text, also of one in a list, and leaves ids where it is asked to', () => {
    const fields: (string | null)[] = [];
    const seen = mapTexts({ url: ['a'], tab_id: 'b', id: 'c', grid: 'd' }, (text, field) => (fields.push(field), loud(text)), {
      keepsIds: true,
    });
    assert.deepEqual(seen, { URL: ['A'], TAB_ID: 'b', ID: 'c', GRID: 'D' });
    assert.deepEqual(fields, [null, 'url', null, null, null, 'grid']);
  });

  it('mapTexts bounds lists and nesting', () => {
    assert.deepEqual(mapTexts(['a', 'b', 'c'], loud, { itemsMax: 2 }), ['A', 'B']);
    let deep: unknown = 'a';
    for (let i = 0; i < 20_000; i += 1) deep = [deep];
    assert.doesNotMatch(JSON.stringify(mapTexts(deep, loud)), /a/i);
  });

  it('mapTexts never sets a prototype', () => {
    const mapped = mapTexts(JSON.parse('{"__proto__":{"polluted":"x"},"b":"c"}') as object, loud);
    assert.equal(Object.getPrototypeOf(mapped), Object.prototype);
    assert.equal('POLLUTED' in mapped, false);
  });
});
