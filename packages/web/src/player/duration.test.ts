import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sizeText } from '../shared/size-text.ts';
import { clockText, spokenText } from './duration.ts';

test('the player writes times as players do', () => {
  assert.deepEqual([0, 7000, 65_400, 3_599_999, 3_723_000, -5].map(clockText), ['0:00', '0:07', '1:05', '59:59', '1:02:03', '0:00']);
});

test('the player says times in words', () => {
  assert.deepEqual([0, 1000, 62_000, 3_600_000].map(spokenText), ['0 seconds', '1 second', '1 minute 2 seconds', '1 hour']);
});

test('the player writes sizes in the unit that fits', () => {
  assert.deepEqual([0, 999, 1000, 12_400, 3_400_000, 1.2e9, 3.4e12].map(sizeText), [
    '0 B',
    '999 B',
    '1 kB',
    '12 kB',
    '3.4 MB',
    '1.2 GB',
    '3.4 TB',
  ]);
});
