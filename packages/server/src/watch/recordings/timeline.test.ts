import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { ManualClock } from '@berth/lib/clock.ts';
import { startedAt, tempFolder } from '../../../testing/recordings.ts';
import { Timeline, type TimelineLine } from './timeline.ts';

function makeTimeline(test: TestContext) {
  let zeroMs: number | null = null;
  const clock = new ManualClock(startedAt);
  const path = join(
    tempFolder((undo) => test.after(undo)),
    'events.ndjson',
  );
  const lines = (): TimelineLine[] =>
    readFileSync(path, 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as TimelineLine);
  return {
    timeline: new Timeline(path, { clock, zeroMs: () => zeroMs }),
    clock,
    path,
    lines,
    see: () => void (zeroMs = clock.monotonicMs()),
  };
}

describe('a timeline', () => {
  it('a timeline has a line for each thing that happened, with its place in the video', async (test) => {
    const { timeline, clock, lines, see } = makeTimeline(test);
    clock.advance(300);
    timeline.add('navigation', { url: 'https://shop.test/?q=hunter2' });
    see();
    clock.advance(1234);
    timeline.add('console', { text: 'two\nlines' }, { chatter: true });
    assert.equal(await timeline.end(), true);
    assert.deepEqual(lines(), [
      { t_ms: 0, at: '2026-01-01T00:00:00.300Z', type: 'navigation', data: { url: 'https://shop.test/?q=…' } },
      { t_ms: 1234, at: '2026-01-01T00:00:01.534Z', type: 'console', data: { text: 'two\nlines' } },
    ]);
  });

  it('a timeline leaves room for other events in a page that writes to the console without end', async (test) => {
    const { timeline, lines } = makeTimeline(test);
    for (let line = 0; line < 30_000; line += 1) timeline.add('console', { line }, { chatter: true });
    timeline.add('navigation', {});
    await timeline.end();
    assert.deepEqual(
      lines()
        .slice(-2)
        .map(({ type, data }) => [type, data]),
      [
        ['timeline.truncated', { left_out: 'console and network' }],
        ['navigation', {}],
      ],
    );
    assert.equal(lines().length, 14_002);
  });

  it('a timeline that is too long ends with one line that says so', async (test) => {
    const { timeline, lines } = makeTimeline(test);
    for (let line = 0; line < 30_000; line += 1) timeline.add('tab.opened', {});
    await timeline.end();
    assert.equal(lines().length, 20_001);
    assert.equal(lines().filter(({ type }) => type === 'timeline.truncated').length, 1);
    assert.equal(lines().at(-1)?.type, 'timeline.truncated');
  });

  it('a timeline is bounded in bytes as well', async (test) => {
    const { timeline } = makeTimeline(test);
    for (let line = 0; line < 6000; line += 1) timeline.add('dialog', { message: 'm'.repeat(3000) });
    await timeline.end();
    assert.ok(timeline.bytes > 8 * 1024 * 1024 - 3000 && timeline.bytes < 8 * 1024 * 1024 + 3000, String(timeline.bytes));
  });

  it('a timeline takes nothing more once it has ended, and may be ended twice', async (test) => {
    const { timeline, path } = makeTimeline(test);
    assert.deepEqual([await timeline.end(), await timeline.end()], [true, true]);
    timeline.add('navigation', {});
    assert.equal(readFileSync(path, 'utf8'), '');
  });

  it('a timeline never writes into a file that is there, says at its end that it is not whole, and does not throw', async (test) => {
    const path = join(
      tempFolder((undo) => test.after(undo)),
      'events.ndjson',
    );
    writeFileSync(path, 'of another');
    const clock = new ManualClock(startedAt);
    const timeline = new Timeline(path, { clock, zeroMs: () => null });
    timeline.add('navigation', {});
    assert.equal(await timeline.end(), false);
    timeline.add('navigation', {});
    assert.equal(readFileSync(path, 'utf8'), 'of another');
  });
});
