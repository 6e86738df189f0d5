import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createReport } from '../report.ts';
import { shownIn, plantPlaces } from './places.fixture.ts';
import { redact } from './redact.ts';
import { inspectSections } from '@berth/contract';

describe('redact, of secrets at several hundred places', () => {
  it('draws a value of its own for each of at least 300 places', () => {
    const { capture, places } = plantPlaces(1);
    assert.equal(places.length >= 300, true, String(places.length));
    assert.equal(new Set(places.map(({ value }) => value)).size, places.length);
    const seen = shownIn(JSON.stringify(capture), places).length;
    assert.equal(seen > places.length - 5, true, `${seen} of ${places.length} stand in the capture`);
  });

  for (const seed of [1, 2])
    it(`shows none in the capture, with seed ${seed}`, () => {
      const { capture, places } = plantPlaces(seed);
      assert.deepEqual(shownIn(JSON.stringify(redact(capture)), places), []);
    });

  it('shows none in any section of the report, its document of the API and its client', () => {
    const { capture, places } = plantPlaces(3);
    const report = createReport(capture, { include: [...inspectSections], capture_bodies: 'samples' });
    assert.deepEqual(shownIn(JSON.stringify(report), places), []);
  });
});
