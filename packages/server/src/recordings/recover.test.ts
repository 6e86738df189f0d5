import assert from 'node:assert/strict';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { makeFolder } from './folder.ts';
import { playlistOf, recordOf, startedAt, tempFolder } from './recordings.fixture.ts';
import type { RecordingFacts } from './facts.ts';
import { mend } from './recover.ts';

const now = new Date(startedAt.getTime() + 3_600_000);
const record = recordOf();
const line = (tMs: number): string =>
  `${JSON.stringify({ t_ms: tMs, at: startedAt.toISOString(), type: 'navigation', data: { url: 'https://shop.test/' } })}\n`;

/** A folder as a worker leaves it that was killed while it recorded. */
function leftBehind(test: TestContext, files: Record<string, string>): { folder: string; textOf: (name: string) => string } {
  const folder = join(
    tempFolder((undo) => test.after(undo)),
    record.recId,
  );
  makeFolder(folder);
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return { folder, textOf: (name) => readFileSync(join(folder, name), 'utf8') };
}

const factsAt = (durationMs: number, over: Partial<RecordingFacts> = {}): string =>
  JSON.stringify({
    status: 'recording',
    video: 'hls',
    started_at: startedAt.toISOString(),
    ended_at: null,
    duration_ms: durationMs,
    truncated: false,
    ...over,
  });

describe('a recording whose worker was killed', () => {
  it('has a video that plays to where it comes, a timeline of whole lines, and says that it is incomplete', async (test) => {
    const { folder, textOf } = leftBehind(test, {
      'video/init.mp4': 'init',
      'video/seg00000.m4s': 'segment',
      'video/seg00001.m4s': 'segment',
      'video/seg00002.m4s.tmp': 'half a segm',
      'video/video.m3u8': playlistOf(['seg00000.m4s', 'seg00001.m4s'], { isClosed: false }),
      'events.ndjson': `${line(100)}${line(9500)}{"t_ms":9600,"at":"2026-`,
      'recording.json': factsAt(8000),
    });
    const outcome = await mend(folder, record, now);
    assert.deepEqual(
      [outcome.status, outcome.video, outcome.durationMs, outcome.endedAt.toISOString()],
      ['incomplete', 'hls', 9500, '2026-01-01T00:00:09.500Z'],
    );
    assert.match(textOf('video/video.m3u8'), /seg00001\.m4s\n#EXT-X-ENDLIST\n$/);
    assert.equal(textOf('events.ndjson'), line(100) + line(9500));
    const facts = JSON.parse(textOf('recording.json')) as RecordingFacts;
    assert.deepEqual(
      [facts.status, facts.duration_ms, facts.size_bytes, facts.assets],
      ['incomplete', 9500, outcome.sizeBytes, ['recording.json', 'events.ndjson', 'video.m3u8', 'init.mp4']],
    );
    assert.ok(outcome.sizeBytes > 0);
  });

  it('is not changed by being mended twice', async (test) => {
    const { folder, textOf } = leftBehind(test, {
      'video/seg00000.m4s': 'segment',
      'video/video.m3u8': playlistOf(['seg00000.m4s'], { isClosed: false }),
      'events.ndjson': line(100),
    });
    const first = await mend(folder, record, now);
    const facts = textOf('recording.json');
    const second = await mend(folder, record, new Date(now.getTime() + 1000));
    assert.deepEqual(
      [second.status, second.endedAt, second.durationMs, textOf('recording.json')],
      [first.status, first.endedAt, first.durationMs, facts.replace(/"size_bytes":\d+/, `"size_bytes":${second.sizeBytes}`)],
    );
  });

  it('has no picture in its index that is not all there', async (test) => {
    const index = [
      { t_ms: 0, offset: 0, length: 5 },
      { t_ms: 500, offset: 5, length: 5 },
      { t_ms: 1000, offset: 10, length: 5 },
    ].map((picture) => `${JSON.stringify(picture)}\n`);
    const { folder, textOf } = leftBehind(test, { 'frames.mjpeg': 'one..two..thr', 'frames.ndjson': `${index.join('')}{"t_ms":15` });
    const outcome = await mend(folder, record, now);
    assert.deepEqual([outcome.status, outcome.video, outcome.durationMs], ['incomplete', 'frames', 500]);
    assert.equal(textOf('frames.ndjson'), index.slice(0, 2).join(''));
    assert.equal((JSON.parse(textOf('recording.json')) as RecordingFacts).video, 'frames');
  });

  it('has failed where there is nothing to be seen', async (test) => {
    for (const files of [
      {},
      { 'events.ndjson': line(100) },
      { 'video/video.m3u8': '', 'video/seg00000.m4s.tmp': 'half' },
      { 'frames.ndjson': '', 'frames.mjpeg': 'on' },
    ] as Record<string, string>[]) {
      const { folder } = leftBehind(test, files);
      const { status, video } = await mend(folder, record, now);
      assert.deepEqual([status, video], ['failed', null], JSON.stringify(files));
    }
  });

  it('has failed where its folder is gone', async (test) => {
    const { folder } = leftBehind(test, {});
    rmSync(folder, { recursive: true });
    const { status, sizeBytes, endedAt } = await mend(folder, record, now);
    assert.deepEqual([status, sizeBytes, endedAt], ['failed', 0, startedAt]);
  });

  it('is complete where it had come to its end and only the store did not hear of it', async (test) => {
    const { folder } = leftBehind(test, {
      'video/seg00000.m4s': 'segment',
      'video/video.m3u8': playlistOf(['seg00000.m4s']),
      'recording.json': factsAt(4000, { status: 'complete', ended_at: '2026-01-01T00:00:04.000Z', truncated: true }),
    });
    const outcome = await mend(folder, record, now);
    assert.deepEqual([outcome.status, outcome.truncated, outcome.endedAt.toISOString()], ['complete', true, '2026-01-01T00:00:04.000Z']);
  });

  it('is read as far as it can be where what it says of itself is torn', async (test) => {
    const { folder } = leftBehind(test, {
      'video/seg00000.m4s': 'segment',
      'video/video.m3u8': playlistOf(['seg00000.m4s']),
      'recording.json': '{"status":"comp',
    });
    const outcome = await mend(folder, record, now);
    assert.deepEqual([outcome.status, outcome.durationMs], ['incomplete', 4000]);
  });
});
