import assert from 'node:assert/strict';
import { test } from 'node:test';
import { driversText, timeLeftText } from './session-texts.ts';

test('the time left of a session is shown in minutes, and in seconds at the end', () => {
  assert.deepEqual([-1, 0, 100, 119_000, 120_000, 3_599_000, 3_600_000, 7_380_000].map(timeLeftText), [
    'ends now',
    'ends now',
    '1 s left',
    '119 s left',
    '2 min left',
    '59 min left',
    '1 h 0 min left',
    '2 h 3 min left',
  ]);
});

test('the live view names the other viewers who drive', () => {
  const text = (people: number, clients: number, api: boolean, isMeDriving: boolean): string =>
    driversText({ people, clients, api }, { isMeDriving });
  assert.equal(text(1, 0, false, true), '');
  assert.equal(text(0, 0, false, false), '');
  assert.equal(text(2, 1, false, true), 'Also driven by 1 other person, 1 program');
  assert.equal(text(3, 2, true, true), 'Also driven by 2 other people, 2 programs, API calls');
  assert.equal(text(1, 0, true, false), 'Driven by 1 person, API calls');
});
