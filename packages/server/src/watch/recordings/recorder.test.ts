import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { describe, it } from 'node:test';
import type { Har } from 'har-format';
import { entryOf, createRecorder, playlistOf, StubBrowser, StubEncoders, StubEvents, tempFolder } from '../../../testing/recordings.ts';
import type { RecordingInfo } from './info.ts';
import type { TimelineLine } from './timeline.ts';

const linesOf = (folder: string): TimelineLine[] =>
  readFileSync(join(folder, 'events.ndjson'), 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as TimelineLine);
const typesOf = (folder: string): string[] => linesOf(folder).map(({ type }) => type);
const infoOf = (folder: string): RecordingInfo => JSON.parse(readFileSync(join(folder, 'recording.json'), 'utf8')) as RecordingInfo;
const textOf = (folder: string, name: string): string => readFileSync(join(folder, name), 'utf8');

describe('a recorder', () => {
  it('a recorder makes a video, a timeline, a HAR and a poster, and says that all of it is there', async (test) => {
    const { recorder, browser, events, encoders, clock, folder, record } = createRecorder(tempFolder((undo) => test.after(undo)));
    await turn();
    browser.draw('a picture');
    events.emit('navigation', { tab_id: 'tab_1', url: 'https://shop.test/?q=hunter2' });
    browser.log('hello from https://shop.test/?key=hunter2');
    browser.entries.push(entryOf());
    clock.advance(5000);
    const outcome = await recorder.finish();
    assert.deepEqual(
      [outcome.status, outcome.video, outcome.durationMs, outcome.truncated, outcome.endedAt.toISOString()],
      ['complete', 'hls', 5000, false, '2026-01-01T00:00:05.000Z'],
    );
    assert.deepEqual(typesOf(folder), ['navigation', 'console', 'network']);
    assert.equal((JSON.parse(textOf(folder, 'har.json')) as Har).log.entries.length, 1);
    assert.equal(textOf(folder, 'poster.jpg'), 'a picture');
    assert.deepEqual(infoOf(folder), {
      rec_id: record.recId,
      session_id: record.sessionId,
      status: 'complete',
      video: 'hls',
      started_at: '2026-01-01T00:00:00.000Z',
      ended_at: '2026-01-01T00:00:05.000Z',
      duration_ms: 5000,
      size_bytes: outcome.sizeBytes,
      truncated: false,
      assets: ['recording.json', 'events.ndjson', 'har.json', 'poster.jpg', 'video.m3u8', 'init.mp4'],
    });
    assert.ok(outcome.sizeBytes >= textOf(folder, 'har.json').length);
    assert.deepEqual(encoders.only.options.folder, join(folder, 'video'));
    assert.ok(encoders.only.options.bytesMax < 1024 ** 3, 'the rest of a recording has room beside its video');
  });

  it('a recorder writes no secrets of addresses', async (test) => {
    const { recorder, browser, events, folder } = createRecorder(tempFolder((undo) => test.after(undo)));
    events.emit('navigation', { url: 'https://ada:hunter2@shop.test/?a=hunter2#hunter2' });
    events.emit('tab.opened', { url: 'data:text/html,hunter2', opener_tab_id: null });
    events.emit('action', { name: 'navigate', status: 'ok', duration_ms: 1, url: 'https://shop.test/?a=hunter2' });
    events.emit('download.started', { url: 'https://shop.test/get?sig=hunter2' });
    browser.log('see https://shop.test/?a=hunter2', { url: 'https://shop.test/app.js?v=hunter2' });
    browser.entries.push(entryOf({ url: 'https://shop.test/api?token=hunter2', status: 500 }));
    await recorder.finish();
    assert.doesNotMatch(textOf(folder, 'events.ndjson'), /hunter2/);
    assert.equal(linesOf(folder).length, 7);
  });

  it('a recorder writes nothing of a secret that the session knows, wherever the page shows it', async (test) => {
    const { recorder, browser, events, folder } = createRecorder(tempFolder((undo) => test.after(undo)));
    const secret = 'Quay&Street 77';
    await events.secrets.add({ password: secret });
    browser.log(`welcome, your password is ${secret}`);
    const inPath = `https://shop.test/hello/${encodeURIComponent(secret)}/x`;
    browser.entries.push(entryOf({ url: inPath, status: 500, responseHeaders: { 'x-echo': secret } }));
    await recorder.finish();
    for (const name of ['events.ndjson', 'har.json', 'recording.json']) assert.doesNotMatch(textOf(folder, name), /Quay|Street/, name);
    assert.match(textOf(folder, 'events.ndjson'), /your password is \{\{secret[.]password\}\}/);
  });

  it('a recorder asks for frames as the encoder takes them, holds the first until it is there, and leaves out what has not changed', async (test) => {
    const { recorder, browser, encoders } = createRecorder(tempFolder((undo) => test.after(undo)));
    assert.deepEqual(browser.demand, { maxWidth: 1280, maxHeight: 720, quality: 70, framesPerSecond: 8 });
    browser.draw('one');
    browser.draw('two');
    assert.equal(encoders.started[0]?.frames.length ?? 0, 0);
    await turn();
    for (const picture of ['two', 'two', 'three', 'two']) browser.draw(picture);
    assert.deepEqual(encoders.only.frames.map(String), ['two', 'three', 'two']);
    await recorder.finish();
    assert.equal(browser.demand, null, 'the screencast has ended');
  });

  it('a recorder offers the newest frame again that an encoder which is behind did not take', async (test) => {
    const { recorder, browser, encoders } = createRecorder(tempFolder((undo) => test.after(undo)));
    await turn();
    encoders.only.isBehind = true;
    browser.draw('one');
    browser.draw('two');
    encoders.only.isBehind = false;
    await recorder.pulse();
    assert.deepEqual(encoders.only.frames.map(String), ['two']);
    await recorder.finish();
  });

  it('a recorder says how far it is while it records, and that there is a video once it can be played', async (test) => {
    const { recorder, browser, encoders, clock, folder } = createRecorder(tempFolder((undo) => test.after(undo)));
    assert.equal(infoOf(folder).status, 'recording');
    await turn();
    clock.advance(700);
    browser.draw('one');
    clock.advance(2000);
    await recorder.pulse();
    assert.deepEqual([infoOf(folder).status, infoOf(folder).video, infoOf(folder).duration_ms], ['recording', null, 2000]);
    encoders.only.writeVideo({ isClosed: false });
    clock.advance(2000);
    await recorder.pulse();
    assert.deepEqual([infoOf(folder).video, infoOf(folder).duration_ms], ['hls', 4000]);
    assert.deepEqual([recorder.record.video, recorder.record.durationMs, recorder.record.sizeBytes >= 100], ['hls', 4000, true]);
    await recorder.finish();
  });

  it('a recorder writes still frames when there is no encoder', async (test) => {
    const { recorder, browser, folder } = createRecorder(
      tempFolder((undo) => test.after(undo)),
      { encoders: null },
    );
    assert.equal(browser.demand?.framesPerSecond, 2);
    browser.draw('one');
    await recorder.pulse();
    assert.equal(recorder.record.video, 'frames');
    const outcome = await recorder.finish();
    assert.deepEqual([outcome.status, outcome.video, textOf(folder, 'frames.mjpeg')], ['complete', 'frames', 'one']);
  });

  it('a recorder writes still frames when no encoder can be started', async (test) => {
    const root = tempFolder((undo) => test.after(undo));
    const { recorder, browser, encoders, folder } = createRecorder(root, {
      encoders: { framesPerSecond: 8, start: () => Promise.reject(new Error('no jail')) },
    });
    browser.draw('one');
    await turn();
    assert.deepEqual([browser.demand?.framesPerSecond, encoders.started.length], [2, 0]);
    const outcome = await recorder.finish();
    assert.deepEqual([outcome.status, outcome.video, textOf(folder, 'frames.mjpeg')], ['complete', 'frames', 'one']);
  });

  it('a recorder falls back to still frames when the encoder dies before it wrote anything', async (test) => {
    const { recorder, browser, encoders, clock, folder } = createRecorder(tempFolder((undo) => test.after(undo)));
    await turn();
    browser.draw('one');
    encoders.only.exit('broken');
    for (let turns = 0; browser.demand?.framesPerSecond !== 2; turns += 1) {
      assert.ok(turns < 10_000);
      await turn();
    }
    clock.advance(1000);
    browser.draw('two');
    const outcome = await recorder.finish();
    assert.deepEqual([outcome.status, outcome.video, textOf(folder, 'frames.mjpeg')], ['complete', 'frames', 'onetwo']);
  });

  it('a recorder keeps the video that there is when the encoder dies later, closes it, and goes on with the timeline', async (test) => {
    const { recorder, browser, events, encoders, folder } = createRecorder(tempFolder((undo) => test.after(undo)));
    await turn();
    browser.draw('one');
    encoders.only.writeVideo({ isClosed: false });
    encoders.only.exit('broken');
    for (let turns = 0; browser.demand !== null; turns += 1) {
      assert.ok(turns < 10_000);
      await turn();
    }
    events.emit('tab.closed', { tab_id: 'tab_1' });
    const outcome = await recorder.finish();
    assert.deepEqual([outcome.status, outcome.video], ['incomplete', 'hls']);
    assert.deepEqual(typesOf(folder), ['recording.video_ended', 'tab.closed']);
    assert.equal(textOf(folder, 'video/video.m3u8'), playlistOf(['seg00000.m4s']));
  });

  it('a recording is incomplete where the encoder does not come to an end', async (test) => {
    const { recorder, browser, encoders } = createRecorder(tempFolder((undo) => test.after(undo)));
    await turn();
    browser.draw('one');
    encoders.only.writeVideo({ isClosed: false });
    encoders.only.end = 'broken';
    assert.deepEqual((await recorder.finish()).status, 'incomplete');
  });

  it('a recording is incomplete, and can be watched, where its playlist cannot be closed', async (test) => {
    const { recorder, browser, encoders, folder } = createRecorder(tempFolder((undo) => test.after(undo)));
    await turn();
    browser.draw('one');
    encoders.only.writeVideo({ isClosed: false });
    encoders.only.end = 'broken';
    mkdirSync(join(folder, 'video', 'video.m3u8.new'));
    const { status, video } = await recorder.finish();
    assert.deepEqual([status, video], ['incomplete', 'hls']);
  });

  it('a recording has failed when there was no frame', async (test) => {
    const { recorder } = createRecorder(tempFolder((undo) => test.after(undo)));
    const { status, video } = await recorder.finish();
    assert.deepEqual([status, video], ['failed', null]);
  });

  it('a recorder stops when the encoder says that there is no room for more', async (test) => {
    const { recorder, browser, events, encoders, clock, folder, seen: state } = createRecorder(tempFolder((undo) => test.after(undo)));
    await turn();
    browser.draw('one');
    clock.advance(3000);
    encoders.only.writeVideo();
    encoders.only.exit('full');
    await turn();
    assert.deepEqual([state.stopped, browser.demand, events.listening], [1, null, 0]);
    clock.advance(60_000);
    const outcome = await recorder.finish();
    assert.deepEqual([outcome.status, outcome.truncated, outcome.durationMs], ['complete', true, 3000]);
    assert.deepEqual([infoOf(folder).truncated, linesOf(folder).at(-1)?.data], [true, { reason: 'size' }]);
  });

  it('a recorder stops when the disk runs short, and writes no HAR on it', async (test) => {
    const { recorder, browser, seen: state, folder } = createRecorder(tempFolder((undo) => test.after(undo)));
    await turn();
    browser.draw('one');
    state.freeBytes = 999;
    await recorder.pulse();
    await recorder.pulse();
    assert.equal(state.stopped, 1);
    const outcome = await recorder.finish();
    assert.deepEqual([outcome.status, outcome.truncated, existsSync(join(folder, 'har.json'))], ['complete', true, false]);
    assert.deepEqual(linesOf(folder).at(-1)?.data, { reason: 'disk' });
  });

  it('a recorder writes the number of console lines beyond the limit', async (test) => {
    const { recorder, browser, folder } = createRecorder(tempFolder((undo) => test.after(undo)));
    for (let line = 0; line < 1000; line += 1) browser.log(`line ${line}`);
    await recorder.pulse();
    browser.log('after');
    await recorder.finish();
    const lines = linesOf(folder);
    assert.equal(lines.length, 102);
    assert.deepEqual([lines[100]?.data, lines[101]?.data['text']], [{ lines: 900 }, 'after']);
  });

  it('a recorder does not fail when the browser has closed, or the disk is unavailable', async (test) => {
    const { recorder, browser, folder } = createRecorder(
      tempFolder((undo) => test.after(undo)),
      {
        freeBytes: () => Promise.reject(new Error('no disk')),
      },
    );
    await turn();
    browser.draw('one');
    browser.isClosed = true;
    await recorder.pulse();
    recorder.halt();
    browser.draw('too late');
    assert.equal((await recorder.finish()).status, 'complete');
    assert.equal(existsSync(join(folder, 'har.json')), false);
  });

  it('a recorder returns the same outcome to concurrent callers', async (test) => {
    const { recorder, browser } = createRecorder(tempFolder((undo) => test.after(undo)));
    await turn();
    browser.draw('one');
    const [one, other] = await Promise.all([recorder.finish(), recorder.finish()]);
    assert.equal(one, other);
  });

  it('a recorder leaves no encoder and no listener where the browser cannot be watched', async (test) => {
    const [events, encoders, browser] = [new StubEvents(), new StubEncoders(), new StubBrowser()];
    browser.attachScreencast = () => assert.fail('the browser has closed');
    const root = tempFolder((undo) => test.after(undo));
    assert.throws(() => createRecorder(root, { events, encoders, browser }), /the browser has closed/);
    await turn();
    assert.equal(events.listening, 0);
    assert.equal((await encoders.only.exited).end, 'finished');
  });

  it('a recorder does not begin in the folder of another recording', (test) => {
    const folder = join(
      tempFolder((undo) => test.after(undo)),
      'taken',
    );
    mkdirSync(folder);
    writeFileSync(join(folder, 'events.ndjson'), 'of another');
    assert.throws(() => createRecorder(folder, { folder }), { code: 'EEXIST' });
    assert.equal(textOf(folder, 'events.ndjson'), 'of another');
  });
});
