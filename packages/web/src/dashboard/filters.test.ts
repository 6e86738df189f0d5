import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readFilters } from './filters.ts';

test('a filter in the address that does not fit is as if it were missing', () => {
  const filters = { q: 'text', kind: [{ value: '' }, { value: 'fetch' }], last4: /^.{4}$/ } as const;
  const read = (query: Record<string, string>) => readFilters(query, filters);
  assert.deepEqual(read({ q: 'a b', kind: 'fetch', last4: 'wxyz', other: 'x' }), { q: 'a b', kind: 'fetch', last4: 'wxyz' });
  assert.deepEqual(read({ q: '\0', kind: 'zzz', last4: 'wxyz1' }), {});
  assert.deepEqual(read({ q: 'a\0b', kind: '' }), { q: 'ab' });
});
