import assert from 'node:assert/strict';
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { closePlaylist, closeVideo } from './playlist.ts';
import { playlistOf, tempFolder } from '../../../../testing/recordings.ts';

const three = ['seg00000.m4s', 'seg00001.m4s', 'seg00002.m4s'];
const there = (names: string[]): Map<string, number> => new Map(names.map((name) => [name, 10]));

describe('a playlist whose encoder has exited', () => {
  it('a whole playlist whose encoder has exited is left as it is', async () => {
    const closed = await closePlaylist(playlistOf(three), there(three));
    assert.deepEqual([closed?.text, closed?.durationMs, closed?.wasComplete], [playlistOf(three), 12_000, true]);
  });

  it('a playlist is closed where its encoder could not do it', async () => {
    const closed = await closePlaylist(playlistOf(three, { isClosed: false }), there(three));
    assert.deepEqual([closed?.text, closed?.wasComplete], [playlistOf(three), false]);
  });

  it('a playlist ends before a segment that the disk has lost, or of which nothing is there', async () => {
    const lost = await closePlaylist(playlistOf(three), there([three[0] ?? '', three[2] ?? '']));
    assert.deepEqual([lost?.text, lost?.durationMs, lost?.wasComplete], [playlistOf(three.slice(0, 1)), 4000, false]);
    const empty = await closePlaylist(playlistOf(three), new Map([...there(three), ['seg00001.m4s', 0]]));
    assert.equal(empty?.text, playlistOf(three.slice(0, 1)));
  });

  it('a playlist is cut where a line is torn', async () => {
    const torn = playlistOf(three, { isClosed: false }).slice(0, -8);
    assert.equal((await closePlaylist(torn, there(three)))?.text, playlistOf(three.slice(0, 2)));
  });

  it('closing a playlist without an existing segment returns none', async () => {
    assert.equal(await closePlaylist(playlistOf(three), new Map()), null);
    assert.equal(await closePlaylist('', there(three)), null);
    assert.equal(await closePlaylist('\u0000'.repeat(100), there(three)), null);
  });

  it('a playlist is written anew beside its segments, and not through a link that lies there', async (test) => {
    const folder = tempFolder((undo) => test.after(undo));
    const other = join(folder, 'other');
    for (const name of three) writeFileSync(join(folder, name), 'segment');
    writeFileSync(join(folder, 'video.m3u8'), playlistOf(three, { isClosed: false }));
    writeFileSync(other, 'of another');
    symlinkSync(other, join(folder, 'video.m3u8.new'));
    assert.equal((await closeVideo(folder))?.durationMs, 12_000);
    assert.equal(readFileSync(join(folder, 'video.m3u8'), 'utf8'), playlistOf(three));
    assert.equal(readFileSync(other, 'utf8'), 'of another');
  });
});
