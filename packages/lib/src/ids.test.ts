import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isId, newId } from './ids.ts';

describe('an id', () => {
  it('an id is its prefix and 24 lower-case letters and digits, without a dot', () => {
    for (let n = 0; n < 200; n += 1) assert.match(newId('ses'), /^ses_[0-9a-z]{24}$/);
  });

  it('an id is distinguished from texts that cannot be one', () => {
    assert.ok(isId('ses', newId('ses')));
    for (const text of [
      '',
      'ses_',
      newId('vm'),
      `${newId('ses')}x`,
      newId('ses').slice(0, -1),
      `ses_${'a'.repeat(23)}\0`,
      'ses_../../etc/passwd/aaaaaaa',
    ])
      assert.equal(isId('ses', text), false, text);
  });

  it('an id does not repeat', () => {
    assert.equal(new Set(Array.from({ length: 20_000 }, () => newId('vm'))).size, 20_000);
  });
});
