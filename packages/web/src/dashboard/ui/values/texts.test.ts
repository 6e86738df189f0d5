import assert from 'node:assert/strict';
import { it } from 'node:test';
import { distanceText, durationText, wordsOf } from './texts.ts';

it('durations in the dashboard have two units at most', () => {
  const cases: [number, string][] = [
    [0, '0 ms'],
    [850, '850 ms'],
    [12_000, '12 s'],
    [185_000, '3 min 5 s'],
    [7_800_000, '2 h 10 min'],
    [3_600_000, '1 h'],
    [273_600_000, '3 d 4 h'],
  ];
  for (const [ms, text] of cases) assert.equal(durationText(ms), text);
});

it('times in the dashboard are shown by their distance', () => {
  const nowMs = Date.parse('2026-01-01T12:00:00Z');
  assert.equal(distanceText('2026-01-01T11:57:10Z', nowMs), '2 min ago');
  assert.equal(distanceText('2026-01-01T14:00:00Z', nowMs), 'in 2 h');
  assert.equal(distanceText('2026-01-01T12:00:02Z', nowMs), 'just now');
});

it('names of fields become words in the dashboard', () => {
  assert.equal(wordsOf('idle_timeout_seconds'), 'Idle timeout seconds');
  assert.equal(wordsOf('start_url'), 'Start URL');
});
