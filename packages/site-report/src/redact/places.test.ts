import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createReport } from '../report.ts';
import { entry } from '../../testing/captures.ts';
import { shownIn, plantPlaces } from '../../testing/places.ts';
import { redact } from './redact.ts';
import { inspectSections } from '@berth/contract';

describe('redact, of secrets at several hundred places', () => {
  it('the planted capture has a value of its own for each of at least 300 places', () => {
    const { capture, places } = plantPlaces(1);
    assert.equal(places.length >= 300, true, String(places.length));
    assert.equal(new Set(places.map(({ value }) => value)).size, places.length);
    const seen = shownIn(JSON.stringify(capture), places).length;
    assert.equal(seen > places.length - 5, true, `${seen} of ${places.length} stand in the capture`);
  });

  for (const seed of [1, 2])
    it(`redact shows no planted secret in the capture, with seed ${seed}`, () => {
      const { capture, places } = plantPlaces(seed);
      assert.deepEqual(shownIn(JSON.stringify(redact(capture)), places), []);
    });

  it('redact shows no planted secret in any section of the report, its document of the API and its client', () => {
    const { capture, places } = plantPlaces(3);
    const report = createReport(capture, { include: [...inspectSections], capture_bodies: 'samples' });
    assert.deepEqual(shownIn(JSON.stringify(report), places), []);
  });

  it('redact shows no secret of which an echo escapes some characters, and leaves the text around it', () => {
    const token = 'c3f81d5b-0a9e+4476/b2d7';
    const echoes = [
      '%63' + token.slice(1),
      token.replace('-', '%2d'),
      token.replace('/', '%2F'),
      token.replaceAll('d', '%64'),
      token.replace('+', '%2b'),
    ];
    const entries = [
      entry('https://api.shop.test/in', { type: 'fetch', reply: JSON.stringify({ access_token: token }) }),
      ...echoes.map((echo, i) =>
        entry(`https://api.shop.test/e${i}`, { type: 'fetch', mimeType: 'text/plain', reply: `a%20b (${echo}) c%64` }),
      ),
    ];
    const { capture } = plantPlaces(1);
    const { har } = redact({ ...capture, pages: [], cookies: [], probes: [], har: { log: { ...capture.har.log, entries } } }).capture;
    for (const { response } of har.log.entries.slice(1)) assert.equal(response.content.text, 'a%20b ({{token_1}}) c%64');
  });

  it('redact shows no secret that only decoding reveals, as of a key or a value in escapes of JSON', () => {
    const token = 'c3f81d5b0a9e4476b2d7c1f7';
    const escaped = [...token].map((char) => String.raw`\u00${char.charCodeAt(0).toString(16)}`).join('');
    const entries = [
      entry('https://api.shop.test/in', { type: 'fetch', reply: JSON.stringify({ access_token: token }) }),
      entry('https://api.shop.test/me', { type: 'fetch', reply: `{"note":"${escaped}","${escaped}":1}` }),
    ];
    const { capture } = plantPlaces(1);
    const har = { log: { ...capture.har.log, entries } };
    const report = createReport(
      { ...capture, pages: [], cookies: [], probes: [], har },
      { include: [...inspectSections].filter((section) => section !== 'har'), capture_bodies: 'samples' },
    );
    assert.doesNotMatch(JSON.stringify(report), new RegExp(token.slice(3)));
  });
});
