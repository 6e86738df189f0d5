import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Natives } from '../locate/natives.ts';
import { mayBeOperable, operableCss } from './names.ts';

it('nothing that can be operated is left out by its tag and the names of its attributes', () => {
  for (const selector of operableCss().split(', ')) {
    const [, tag = '', attribute = ''] = /^(\w*)(?:\[(\w+))?/.exec(selector) ?? [];
    const page = { attribute: (_: Element, name: string) => (name === attribute ? '' : null) } as Natives;
    assert.ok(mayBeOperable(page, {} as Element, tag === '' ? 'div' : tag), selector);
  }
});
