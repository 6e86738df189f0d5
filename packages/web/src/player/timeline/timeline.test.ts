import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  compareRows,
  eventKinds,
  foldedKinds,
  isTimelineEvent,
  createMarks,
  pickRows,
  rowAt,
  toRow,
  type TimelineEvent,
} from './timeline.ts';

const event = (type: string, data: Record<string, unknown> = {}, tMs = 0): TimelineEvent => ({
  t_ms: tMs,
  at: '2026-01-01T00:00:00Z',
  type,
  data,
});
const all = new Set(eventKinds);

describe('a row', () => {
  it('a timeline row describes what happened', () => {
    const said = (type: string, data: Record<string, unknown>) => {
      const { kind, label, detail, isError } = toRow(event(type, data));
      return [kind, label, detail, isError];
    };
    assert.deepEqual(said('navigation', { url: 'https://a.example/' }), ['page', 'Page opened', 'https://a.example/', false]);
    assert.deepEqual(said('navigation', { url: 'chrome-error://chromewebdata/' }), ['page', 'Page did not load', '', true]);
    assert.deepEqual(said('action', { name: 'open_tab', status: 'ok', duration_ms: 12.4 }), ['action', 'Open tab', '12 ms', false]);
    assert.deepEqual(said('action', { name: 'actions', status: 'error', error_code: 'step_failed', duration_ms: 10_020 }), [
      'action',
      'Steps',
      'step_failed · 10.0 s',
      true,
    ]);
    assert.deepEqual(said('console', { level: 'error', text: 'x is not a function' }), [
      'console',
      'Console error',
      'x is not a function',
      true,
    ]);
    assert.deepEqual(said('network', { requests: 1, failed: 0, bytes: 2048 }), ['network', '1 request', '2 kB', false]);
    assert.deepEqual(said('network.failed', { method: 'GET', url: 'https://a.example/x', status: 500 }), [
      'network',
      'GET failed',
      '500 · https://a.example/x',
      true,
    ]);
    assert.deepEqual(said('download.finished', { suggested_filename: 'a.pdf', status: 'too_large' }), [
      'page',
      'Download stopped',
      'a.pdf · too_large',
      true,
    ]);
  });

  it('a timeline row shows unknown events as they are', () => {
    assert.deepEqual(
      [toRow(event('moon.landed', { who: 'eagle' })).label, toRow(event('moon.landed', { who: 'eagle' })).detail],
      ['moon.landed', 'eagle'],
    );
    assert.equal(toRow(event('constructor')).label, 'constructor');
  });

  it('an event without data, or with data of other types, has a timeline row', () => {
    assert.equal(toRow({ ...event('navigation'), data: null as unknown as TimelineEvent['data'] }).detail, '');
    assert.equal(toRow(event('navigation', { url: { evil: true } })).detail, '');
  });

  it('a timeline row is one line however long the text is, and found by all of it', () => {
    const row = toRow(event('console', { level: 'log', text: `${'x'.repeat(5000)} needle` }));
    assert.equal(row.detail.length, 300);
    assert.equal(pickRows([row], { kinds: all, search: 'NEEDLE' }).length, 1);
  });
});

describe('an action', () => {
  const rowOf = (type: string, tMs: number, data: Record<string, unknown>) => toRow(event(type, data, tMs));

  it('an action on the timeline stands where it started, before what it caused, a call before its steps', () => {
    const rows = [
      rowOf('navigation', 1040, { url: 'https://a.example/' }),
      rowOf('actions.step', 1100, { step: 'navigate', status: 'ok', duration_ms: 100 }),
      rowOf('action', 1100, { name: 'actions', status: 'ok', duration_ms: 100 }),
      rowOf('action', 50, { name: 'navigate', status: 'ok', duration_ms: 80 }),
    ].sort(compareRows);
    assert.deepEqual(
      rows.map(({ event: { t_ms, type } }) => [t_ms, type]),
      [
        [0, 'action'],
        [1000, 'action'],
        [1000, 'actions.step'],
        [1040, 'navigation'],
      ],
    );
    assert.equal(rows[1]?.event.at, '2025-12-31T23:59:59.900Z');
  });

  it('an action on the timeline names its target and the viewer who did it', () => {
    assert.equal(rowOf('actions.step', 0, { step: 'click', status: 'ok', duration_ms: 5, target: '#go' }).detail, '#go · 5 ms');
    const typed = { name: 'navigate', status: 'ok', url: 'https://a.example/', duration_ms: 5, by: 'viewer' };
    assert.equal(rowOf('action', 0, typed).detail, 'https://a.example/ · 5 ms · by a viewer');
  });
});

describe('viewers', () => {
  it('viewers on the timeline are a kind of their own, folded away at first, without marks', () => {
    const rows = [toRow(event('viewer.joined', { viewers: 1 })), toRow(event('viewer.left', { viewers: 0 }))];
    assert.deepEqual(
      rows.map(({ kind }) => kind),
      ['viewer', 'viewer'],
    );
    assert.deepEqual(foldedKinds, ['viewer']);
    assert.deepEqual(createMarks(rows, 1000), []);
  });
});

describe('lines of the file', () => {
  it('lines of the timeline file are events only with a time and a type', () => {
    assert.ok(isTimelineEvent(event('navigation')));
    for (const line of [null, 1, 'x', {}, { t_ms: 'x', type: 'a' }, { t_ms: 1 }]) assert.ok(!isTimelineEvent(line));
  });
});

describe('picking', () => {
  const rows = [
    event('navigation', { url: 'https://a.example/cart' }),
    event('action', { name: 'click' }),
    event('console', { text: 'cart is empty' }),
  ].map(toRow);

  it('filtering the timeline keeps the kinds that are wanted', () => {
    assert.deepEqual(
      pickRows(rows, { kinds: new Set(['action', 'console']), search: '' }).map(({ kind }) => kind),
      ['action', 'console'],
    );
  });

  it('searching the timeline finds rows in which every word occurs', () => {
    assert.equal(pickRows(rows, { kinds: all, search: 'cart' }).length, 2);
    assert.equal(pickRows(rows, { kinds: all, search: ' CART empty ' }).length, 1);
    assert.equal(pickRows(rows, { kinds: all, search: 'cart nothing' }).length, 0);
  });
});

describe('the row at a time', () => {
  const rows = [100, 200, 200, 900].map((tMs) => toRow(event('navigation', {}, tMs)));

  it('the timeline row at a time is the last one that has happened', () => {
    assert.deepEqual(
      [0, 100, 199, 200, 899, 5000].map((ms) => rowAt(rows, ms)),
      [-1, 0, 0, 2, 2, 3],
    );
    assert.equal(rowAt([], 10), -1);
  });
});

describe('marks', () => {
  it('timeline marks are few however many events there are, and keep the important ones', () => {
    const rows = Array.from({ length: 10_000 }, (_, index) => toRow(event(index === 5000 ? 'tab.crashed' : 'console', {}, index)));
    const marks = createMarks(rows, 10_000);
    assert.equal(marks.length, 200);
    assert.equal(marks.filter(({ kind }) => kind === 'error').length, 1);
  });

  it('timeline marks stay on the bar, leave out summaries, and need a length', () => {
    const rows = [toRow(event('navigation', {}, 99_999)), toRow(event('network', { requests: 3 }, 10))];
    assert.deepEqual(createMarks(rows, 1000), [{ at: 1, kind: 'page' }]);
    assert.deepEqual(createMarks(rows, 0), []);
  });
});
