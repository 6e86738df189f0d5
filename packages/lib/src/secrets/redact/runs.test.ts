import assert from 'node:assert/strict';
import { it } from 'node:test';
import { charClass, eachRun, matchesInRuns } from './runs.ts';

it('runs of a character class are those of a regular expression', () => {
  const digits = charClass(/\d/);
  for (const text of ['', '1', '123', 'a1234b', '12a345', '1234', 'é123', '12 3456 789 ', '123a12345a1', `${'12a'.repeat(50)}123`]) {
    const runs: [number, string][] = [];
    eachRun(text, digits, 3, (start, end) => void runs.push([start, text.slice(start, end)]));
    assert.deepEqual(
      runs,
      [...text.matchAll(/\d{3,}/g)].map(({ index, 0: match }) => [index, match]),
      text,
    );
  }
});

it('a match in a run of characters sees the characters around it', () => {
  const pattern = /(?<!x)\d(?:-?\d){3,}(?!y)/g;
  const text = 'x1234 12-34 1234y 1234-5 1-2-3';
  const matches: [number, string][] = [];
  matchesInRuns(text, { inClass: charClass(/[\d-]/), min: 4, pattern }, (match, index) => void matches.push([index, match]));
  assert.deepEqual(
    matches,
    [...text.matchAll(pattern)].map(({ index, 0: match }) => [index, match]),
  );
});
