import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { matchText, rank } from './fuzzy.ts';

const titles = [
  'Sessions',
  'Create a session',
  'Recordings',
  'Credits',
  'API keys',
  'Create an API key',
  'Usage',
  'Audit',
  'Keyboard shortcuts',
];
const search = (query: string): string[] => rank(titles, query, (title) => title).map(({ item }) => item);

describe('the palette’s search', () => {
  it('the palette’s search lists everything in its order for an empty query', () => {
    assert.deepEqual(
      rank(titles, ' ', (title) => title).map(({ item }) => item),
      titles,
    );
  });

  it('the palette’s search finds beginnings of words first', () => {
    assert.equal(search('key')[0], 'API keys');
    assert.equal(search('sess')[0], 'Sessions');
    assert.equal(search('cre')[0], 'Credits');
  });

  it('the palette’s search finds initials, letters in order, and words in any order', () => {
    assert.equal(search('cas')[0], 'Create a session');
    assert.equal(search('rcrd')[0], 'Recordings');
    assert.deepEqual(search('session create'), ['Create a session']);
  });

  it('the palette’s search finds nothing where a letter is missing', () => {
    assert.deepEqual(search('zebra'), []);
    assert.equal(matchText('ses_9', 'ses_8'), null);
  });

  it('the palette’s search says which letters match', () => {
    assert.deepEqual(matchText('key', 'API keys')?.at, [4, 5, 6]);
  });

  it('the palette’s search takes no longer than its text for hostile input', () => {
    assert.equal(matchText('b'.repeat(64), 'a-'.repeat(50_000)), null);
    assert.ok(matchText('a'.repeat(64), 'a-'.repeat(5000)));
  });
});
