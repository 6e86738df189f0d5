import assert from 'node:assert/strict';
import { test } from 'node:test';
import { retryAfterSeconds } from './retry-after.ts';

const cases: [what: string, headers: Record<string, string>, seconds: number | null][] = [
  ['seconds', { 'retry-after': '120' }, 120],
  ['a date, by the clock of the site', { 'retry-after': 'Wed, 01 Jan 2020 00:01:00 GMT', date: 'Wed, 01 Jan 2020 00:00:00 GMT' }, 60],
  ['a date that is over', { 'retry-after': 'Wed, 01 Jan 2020 00:00:00 GMT', date: 'Wed, 01 Jan 2020 00:05:00 GMT' }, 0],
  ['more than a day', { 'retry-after': '999999' }, 86_400],
  ['a date without a clock', { 'retry-after': 'Wed, 01 Jan 2020 00:01:00 GMT' }, null],
  ['words', { 'retry-after': 'later' }, null],
  ['nothing', {}, null],
];

for (const [what, headers, seconds] of cases)
  test(`a site that asks to wait for ${what} is understood as ${seconds}`, () => assert.equal(retryAfterSeconds(headers), seconds));
