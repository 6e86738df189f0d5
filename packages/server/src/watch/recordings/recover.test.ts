import assert from 'node:assert/strict';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { createFolder } from './files/folder.ts';
import { playlistOf, recordOf, startedAt, tempFolder } from '../../../testing/recordings.ts';
import type { RecordingInfo } from './info.ts';
import { repairFolder } from './recover.ts';

const now = new Date(startedAt.getTime() + 3_600_000);
const record = recordOf();
const line = (tMs: number): string =>
  `${JSON.stringify({ t_ms: tMs, at: startedAt.toISOString(), type: 'navigation', data: { url: 'https://shop.test/' } })}\n`;

/** A folder as a killed worker leaves it. */
function createAbandonedFolder(test: TestContext, files: Record<string, string>): { folder: string; textOf: (name: string) => string } {
  const folder = join(
    tempFolder((undo) => test.after(undo)),
    record.recId,
  );
  createFolder(folder);
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return { folder, textOf: (name) => readFileSync(join(folder, name), 'utf8') };
}

const infoJson = (durationMs: number, over: Partial<RecordingInfo> = {}): string =>
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
  it('a recording whose worker was killed has a video that plays to its end, a timeline of whole lines, and says that it is incomplete', async (test) => {
    const { folder, textOf } = createAbandonedFolder(test, {
      'video/init.mp4': 'init',
      'video/seg00000.m4s': 'segment',
      'video/seg00001.m4s': 'segment',
      'video/seg00002.m4s.tmp': 'half a segm',
      'video/video.m3u8': playlistOf(['seg00000.m4s', 'seg00001.m4s'], { isClosed: false }),
      'events.ndjson': `${line(100)}${line(9500)}{"t_ms":9600,"at":"2026-`,
      'recording.json': infoJson(8000),
    });
    const outcome = await repairFolder(folder, record, now);
    assert.deepEqual(
      [outcome.status, outcome.video, outcome.durationMs, outcome.endedAt.toISOString()],
      ['incomplete', 'hls', 9500, '2026-01-01T00:00:09.500Z'],
    );
    assert.match(textOf('video/video.m3u8'), /seg00001\.m4s\n#EXT-X-ENDLIST\n$/);
    assert.equal(textOf('events.ndjson'), line(100) + line(9500));
    const info = JSON.parse(textOf('recording.json')) as RecordingInfo;
    assert.deepEqual(
      [info.status, info.duration_ms, info.size_bytes, info.assets],
      ['incomplete', 9500, outcome.sizeBytes, ['recording.json', 'events.ndjson', 'video.m3u8', 'init.mp4']],
    );
    assert.ok(outcome.sizeBytes > 0);
  });

  it('a recording whose worker was killed is not changed by a second repair', async (test) => {
    const { folder, textOf } = createAbandonedFolder(test, {
      'video/seg00000.m4s': 'segment',
      'video/video.m3u8': playlistOf(['seg00000.m4s'], { isClosed: false }),
      'events.ndjson': line(100),
    });
    const first = await repairFolder(folder, record, now);
    const info = textOf('recording.json');
    const second = await repairFolder(folder, record, new Date(now.getTime() + 1000));
    assert.deepEqual(
      [second.status, second.endedAt, second.durationMs, textOf('recording.json')],
      [first.status, first.endedAt, first.durationMs, info.replace(/"size_bytes":\d+/, `"size_bytes":${second.sizeBytes}`)],
    );
  });

  it('a recording whose worker was killed has no incomplete picture in its index', async (test) => {
    const index = [
      { t_ms: 0, offset: 0, length: 5 },
      { t_ms: 500, offset: 5, length: 5 },
      { t_ms: 1000, offset: 10, length: 5 },
    ].map((picture) => `${JSON.stringify(picture)}\n`);
    const { folder, textOf } = createAbandonedFolder(test, {
      'frames.mjpeg': 'one..two..thr',
      'frames.ndjson': `${index.join('')}{"t_ms":15`,
    });
    const outcome = await repairFolder(folder, record, now);
    assert.deepEqual([outcome.status, outcome.video, outcome.durationMs], ['incomplete', 'frames', 500]);
    assert.equal(textOf('frames.ndjson'), index.slice(0, 2).join(''));
    assert.equal((JSON.parse(textOf('recording.json')) as RecordingInfo).video, 'frames');
  });

  it('a recording whose worker was killed has failed when there is no frame', async (test) => {
    for (const files of [
      {},
      { 'events.ndjson': line(100) },
      { 'video/video.m3u8': '', 'video/seg00000.m4s.tmp': 'half' },
      { 'frames.ndjson': '', 'frames.mjpeg': 'on' },
    ] as Record<string, string>[]) {
      const { folder } = createAbandonedFolder(test, files);
      const { status, video } = await repairFolder(folder, record, now);
      assert.deepEqual([status, video], ['failed', null], JSON.stringify(files));
    }
  });

  it('a recording whose worker was killed has failed when its folder is missing', async (test) => {
    const { folder } = createAbandonedFolder(test, {});
    rmSync(folder, { recursive: true });
    const { status, sizeBytes, endedAt } = await repairFolder(folder, record, now);
    assert.deepEqual([status, sizeBytes, endedAt], ['failed', 0, startedAt]);
  });

  it('a recording whose worker was killed is complete where it had ended and only the store did not hear of it', async (test) => {
    const { folder } = createAbandonedFolder(test, {
      'video/seg00000.m4s': 'segment',
      'video/video.m3u8': playlistOf(['seg00000.m4s']),
      'recording.json': infoJson(4000, { status: 'complete', ended_at: '2026-01-01T00:00:04.000Z', truncated: true }),
    });
    const outcome = await repairFolder(folder, record, now);
    assert.deepEqual([outcome.status, outcome.truncated, outcome.endedAt.toISOString()], ['complete', true, '2026-01-01T00:00:04.000Z']);
  });

  it('a recording whose worker was killed is read as far as possible where its own description is torn', async (test) => {
    const { folder } = createAbandonedFolder(test, {
      'video/seg00000.m4s': 'segment',
      'video/video.m3u8': playlistOf(['seg00000.m4s']),
      'recording.json': '{"status":"comp',
    });
    const outcome = await repairFolder(folder, record, now);
    assert.deepEqual([outcome.status, outcome.durationMs], ['incomplete', 4000]);
  });
});
