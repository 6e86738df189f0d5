import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fitReport } from './fit.ts';
import { createReport, type Report } from './report.ts';
import { entry, inputOf } from '../testing/captures.ts';

const reportOf = (entries: ReturnType<typeof entry>[]): Report =>
  createReport(inputOf({ entries }).capture, { include: ['site', 'cookies', 'har'], capture_bodies: 'schema' });
const entriesOf = ({ har }: Report): ReturnType<typeof entry>[] =>
  (har ?? assert.fail('no HAR')).log['entries'] as ReturnType<typeof entry>[];

describe('a report that is too large', () => {
  it('a report with a usual HAR is not cut', () => {
    const report = reportOf(
      Array.from({ length: 300 }, (_, index) => entry(`https://shop.test/${index}`, { type: 'fetch', reply: '{"a":1}' })),
    );
    assert.equal(fitReport(report), report);
  });

  it('a report that is too large loses bodies from the end of its HAR first, and says so', () => {
    const report = reportOf(
      Array.from({ length: 20 }, (_, index) => entry(`https://shop.test/${index}`, { type: 'fetch', reply: 'x'.repeat(2_000_000) })),
    );
    const fitted = fitReport(report);
    const bodies = entriesOf(fitted).map(({ response }) => response.content.text?.length ?? 0);
    assert.equal(bodies.length, 20);
    assert.deepEqual([bodies[0], bodies.at(-1)], [2_000_000, 0]);
    const { truncated, dropped_requests, dropped_bytes, reason } = fitted.limits;
    assert.deepEqual([truncated, dropped_requests, reason], [true, 0, 'bodies']);
    assert.ok(dropped_bytes >= bodies.filter((chars) => chars === 0).length * 2_000_000);
  });

  it('a report that is too large without bodies loses requests', () => {
    const headers = Object.fromEntries(Array.from({ length: 200 }, (_, index) => [`x-${index}`, 'y']));
    const fitted = fitReport(
      reportOf(Array.from({ length: 600 }, (_, index) => entry(`https://shop.test/${index}`, { headers, replyHeaders: headers }))),
    );
    const left = entriesOf(fitted).length;
    assert.ok(left > 100 && left < 500, `${left} requests`);
    assert.deepEqual([fitted.limits.dropped_requests, fitted.limits.reason], [600 - left, 'requests']);
    assert.notEqual(fitted.site, null);
  });
});
