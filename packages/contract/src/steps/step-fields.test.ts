import assert from 'node:assert/strict';
import { it } from 'node:test';
import { Pattern } from './step-fields.ts';

const isPattern = (text: string): boolean => Pattern.safeParse(text).success;

it('a pattern field of a step is valid if the page can compile it, with Unicode properties too', () => {
  for (const text of [
    '/\\p{L}+/u',
    '/[\\p{Lu}\\P{Script=Greek}]/iu',
    '/[\\p{L}--\\p{Lu}]/v',
    '/\\\\p{nothing/',
    '/\\p{nothing}/',
    '/\\p{L}{2,3}/u',
  ])
    assert.equal(isPattern(text), true, text);
  for (const text of ['/\\p{nothing}/u', '/\\p{L/u', '/(\\p{L}/u', '/\\p{L}{3,2}/u', '/[\\p{Lu}-z]/u', '/\\p{RGI_Emoji}/u'])
    assert.equal(isPattern(text), false, text);
});
