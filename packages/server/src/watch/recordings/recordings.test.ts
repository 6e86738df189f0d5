import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, beforeEach, describe, it } from 'node:test';
import { ServiceError, type RecordingStatus } from '@berth/contract';
import { createTestDisk } from '../../../testing/disk.ts';
import { ManualClock } from '@berth/lib/clock.ts';
import { newId } from '@berth/lib/ids.ts';
import { eventually } from '@berth/lib/testing/eventually.ts';
import { silentLog } from '@berth/lib/log.ts';
import type { Loop } from '@berth/lib/loop.ts';
import type { LiveSession, Machine, SessionRecord, SessionView } from '../../sessions/sessions/sessions.ts';
import type { Tables } from '../../store/store.ts';
import { insertLostWorker, testStore, type TestStore } from '../../../testing/test-store.ts';
import { createFolder } from './files/folder.ts';
import { playlistOf, recordOf, startedAt, StubBrowser, StubEncoders, StubEvents } from '../../../testing/recordings.ts';
import { Recordings, type RecordingsDeps } from './recordings.ts';
import { insertRecording, recordingsOf } from './store.ts';

const hasCode =
  (code: string) =>
  (error: unknown): boolean =>
    error instanceof ServiceError && error.code === code;
const dayMs = 24 * 3_600_000;

/** The part of sessions that recordings use. */
class StubSessions {
  readonly noted: [sessionId: string, status: RecordingStatus][] = [];
  readonly known = new Set<string>();
  ready: (session: LiveSession, machine: Machine) => void = () => {};
  ended: (record: SessionRecord) => void = () => {};

  onReady(listener: StubSessions['ready']): void {
    this.ready = listener;
  }

  onEnded(listener: StubSessions['ended']): void {
    this.ended = listener;
  }

  setRecordingStatus(_: Tables, sessionId: string, status: RecordingStatus): Promise<void> {
    this.noted.push([sessionId, status]);
    return Promise.resolve();
  }

  get(_owner: string | null, sessionId: string): Promise<SessionView> {
    if (!this.known.has(sessionId)) return Promise.reject(new ServiceError('session_not_found', 'Session not found.'));
    return Promise.resolve({} as SessionView);
  }
}

let served: TestStore;
let dataDir = '';
before(async () => {
  served = await testStore();
  const owners = ['anna', 'bert'].map((owner_id) => ({ owner_id, tier: 'self_hosted' }));
  await served.store.tables<{ owners: { owner_id: string; tier: string } }>().insertInto('owners').values(owners).execute();
});
beforeEach(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'berth-recordings-'));
  await served.store.tables<{ recordings: object }>().deleteFrom('recordings').execute();
});
after(() => served.drop());

function createRecordings(test: { after(undo: () => void): void }, over: Partial<RecordingsDeps> = {}) {
  const folder = dataDir;
  test.after(() => rmSync(folder, { recursive: true, force: true }));
  const sessions = new StubSessions();
  const encoders = new StubEncoders();
  const clock = new ManualClock(startedAt);
  const owners = { tierOf: () => Promise.resolve({ recording_retention_days: 7 }) } as unknown as RecordingsDeps['owners'];
  const recordings = new Recordings({
    ...{ store: served.store, sessions, owners, clock, log: silentLog, dataDir: folder, workerId: 'wrk_here', encoders },
    limits: { bytesMax: 1024 ** 3, freeBytesMin: 0 },
    silentWorkers: () => Promise.resolve([]),
    objects: null,
    disk: createTestDisk(),
    ...over,
  });
  return { recordings, sessions, encoders, clock, folderOf: (recId: string) => join(folder, 'recordings', recId) };
}

type Fixture = ReturnType<typeof createRecordings>;

/** A session of anna's that becomes ready. */
function begin({ sessions }: Fixture, settings: { rec_id: string | null } = { rec_id: newId('rec') }) {
  const browser = new StubBrowser();
  const events = new StubEvents();
  const sessionId = newId('ses');
  const abort = new AbortController();
  const record = { sessionId, owner: 'anna', settings };
  const session = { record, events, abort, recording: null };
  sessions.known.add(sessionId);
  const ready = (): void => sessions.ready(session as unknown as LiveSession, { browser } as unknown as Machine);
  const end = (): void => sessions.ended(record as unknown as SessionRecord);
  return { browser, events, session, sessionId, recId: settings.rec_id ?? '', abort, ready, end };
}

async function turnOf(loop: Loop): Promise<void> {
  loop.nudge();
  await loop.idle();
  assert.equal(loop.status.lastError, null);
}

const rowsOf = (sessionId: string) => recordingsOf(served.store, 'anna', sessionId);

describe('recordings', () => {
  it('recordings are made of sessions that ask for one, from when they are ready to their end', async (test) => {
    const fixture = createRecordings(test);
    const { recordings, sessions, encoders } = fixture;
    const { session, sessionId, recId, browser, ready, end } = begin(fixture);
    ready();
    assert.equal(session.recording, 'recording');
    const [running] = await recordings.list('anna', sessionId);
    assert.deepEqual([running?.record.recId, running?.record.status, running?.record.expiresAt], [recId, 'recording', null]);
    assert.equal(await recordings.recordingOf('anna', sessionId), recId);
    await eventually('the encoder is there', () => encoders.started.length === 1);
    browser.draw('one');
    end();
    assert.equal(browser.demand, null, 'the browser is released at once');
    await eventually('it is over', () => recordings.size === 0);
    const [row] = await rowsOf(sessionId);
    assert.deepEqual(
      [row?.status, row?.video, row?.endedAt?.toISOString(), row?.expiresAt?.toISOString()],
      ['complete', 'hls', '2026-01-01T00:00:00.000Z', '2026-01-08T00:00:00.000Z'],
    );
    assert.deepEqual(sessions.noted, [[sessionId, 'complete']]);
    const [over] = await recordings.list('anna', sessionId);
    assert.deepEqual(over?.assets, [
      'index.html',
      'video.mp4',
      'recording.json',
      'events.ndjson',
      'har.json',
      'poster.jpg',
      'video.m3u8',
      'init.mp4',
      'seg00000.m4s',
    ]);
  });

  it('recordings are not made of sessions that do not ask for one', async (test) => {
    const fixture = createRecordings(test);
    const { session, sessionId, ready, end } = begin(fixture, { rec_id: null });
    ready();
    end();
    assert.deepEqual([session.recording, fixture.recordings.size, await fixture.recordings.list('anna', sessionId)], [null, 0, []]);
    assert.equal(await fixture.recordings.recordingOf('anna', sessionId), null);
  });

  it('recordings never mix: a folder that is there already fails the recording and not the session', async (test) => {
    const fixture = createRecordings(test);
    const recId = newId('rec');
    mkdirSync(fixture.folderOf(recId));
    writeFileSync(join(fixture.folderOf(recId), 'events.ndjson'), 'of another');
    const { sessionId, ready, browser } = begin(fixture, { rec_id: recId });
    ready();
    browser.draw('one');
    await eventually('it is noted', () => fixture.sessions.noted.length === 1);
    assert.deepEqual(fixture.sessions.noted, [[sessionId, 'failed']]);
    assert.equal(readFileSync(join(fixture.folderOf(recId), 'events.ndjson'), 'utf8'), 'of another');
  });

  it('recordings come to an end also where the session ended while it became ready', async (test) => {
    const fixture = createRecordings(test);
    const { sessionId, ready, abort } = begin(fixture);
    abort.abort();
    ready();
    await eventually('it is over', () => fixture.recordings.size === 0);
    assert.deepEqual(fixture.sessions.noted, [[sessionId, 'failed']]);
  });

  it('recordings stop when the disk is full, long before their session', async (test) => {
    const fixture = createRecordings(test, { limits: { bytesMax: 1024 ** 3, freeBytesMin: Number.MAX_SAFE_INTEGER } });
    const { sessionId, ready, browser } = begin(fixture);
    ready();
    await eventually('the encoder is there', () => fixture.encoders.started.length === 1);
    browser.draw('one');
    await turnOf(fixture.recordings.pulse);
    await eventually('it is over', () => fixture.recordings.size === 0);
    const [row] = await rowsOf(sessionId);
    assert.deepEqual([row?.status, row?.truncated], ['complete', true]);
    assert.deepEqual(fixture.sessions.noted, [[sessionId, 'complete']]);
  });

  it('recordings are waited for when the worker stops', async (test) => {
    const fixture = createRecordings(test);
    fixture.recordings.start();
    const { sessionId, ready, end, browser } = begin(fixture);
    ready();
    await eventually('the encoder is there', () => fixture.encoders.started.length === 1);
    browser.draw('one');
    end();
    await fixture.recordings.stop();
    assert.equal((await rowsOf(sessionId))[0]?.status, 'complete');
  });

  it('recordings have half a minute for their last segment, and seconds once the worker stops', async (test) => {
    const fixture = createRecordings(test);
    const { sessionId, ready, end, browser } = begin(fixture);
    ready();
    await eventually('the encoder is there', () => fixture.encoders.started.length === 1);
    browser.draw('one');
    const encoder = fixture.encoders.only;
    const finishes = (encoder.finishes = []);
    end();
    await eventually('it finishes', () => finishes.length === 1);
    const stopped = fixture.recordings.stop();
    await eventually('it is hurried', () => finishes.length === 2);
    assert.deepEqual(finishes, [30_000, 6000]);
    encoder.writeVideo();
    encoder.exit('finished');
    await stopped;
    assert.equal((await rowsOf(sessionId))[0]?.status, 'complete');
  });

  it('recordings are unknown to others, and under another session', async (test) => {
    const fixture = createRecordings(test);
    const { recordings } = fixture;
    const one = begin(fixture);
    const other = begin(fixture);
    for (const { ready } of [one, other]) ready();
    const target = { owner: 'anna', sessionId: one.sessionId, recId: one.recId };
    assert.equal((await recordings.get(target)).recId, one.recId);
    for (const wrong of [
      { owner: 'bert' },
      { sessionId: other.sessionId },
      { recId: other.recId },
      { recId: newId('rec') },
      { recId: '../x' },
      { sessionId: '' },
    ]) {
      await assert.rejects(recordings.get({ ...target, ...wrong }), hasCode('recording_not_found'), JSON.stringify(wrong));
      await assert.rejects(recordings.open({ ...target, ...wrong }, 'events.ndjson'), hasCode('recording_not_found'));
    }
    assert.equal(await recordings.recordingOf('bert', one.sessionId), null);
    assert.deepEqual(await recordings.list('bert', one.sessionId), []);
    await recordings.stop();
  });

  it('recordings can be read while they are made', async (test) => {
    const fixture = createRecordings(test);
    const { sessionId, recId, ready, events } = begin(fixture);
    ready();
    events.emit('tab.closed', { tab_id: 'tab_1' });
    const target = { owner: 'anna', sessionId, recId };
    await eventually('the line is there', async () => {
      const file = await fixture.recordings.open(target, 'events.ndjson').catch(() => null);
      const lines = file && (await text(file.stream()));
      await file?.close();
      return lines?.includes('tab.closed') ?? false;
    });
    await assert.rejects(fixture.recordings.open(target, 'har.json'), hasCode('asset_not_found'));
    await fixture.recordings.stop();
  });

  it('recordings outlive the session’s row, and without one there is no session', async (test) => {
    const { recordings, sessions } = createRecordings(test);
    const record = recordOf({ status: 'complete', endedAt: startedAt, expiresAt: new Date(startedAt.getTime() + dayMs) });
    await insertRecording(served.store, record);
    assert.equal((await recordings.list('anna', record.sessionId)).length, 1);
    await assert.rejects(recordings.list('bert', record.sessionId), hasCode('session_not_found'));
    await assert.rejects(recordings.list('anna', newId('ses')), hasCode('session_not_found'));
    assert.deepEqual(sessions.noted, []);
  });
});

describe('recovery', () => {
  it('recovery of recordings ends what this worker recorded before it died, and nothing that it records now', async (test) => {
    const fixture = createRecordings(test);
    const record = recordOf();
    createFolder(fixture.folderOf(record.recId));
    writeFileSync(join(fixture.folderOf(record.recId), 'video', 'seg00000.m4s'), 'segment');
    writeFileSync(join(fixture.folderOf(record.recId), 'video', 'video.m3u8'), playlistOf(['seg00000.m4s'], { isClosed: false }));
    await insertRecording(served.store, record);
    const running = begin(fixture);
    running.ready();
    await eventually('it has its row', async () => (await rowsOf(running.sessionId)).length === 1);
    await turnOf(fixture.recordings.recovery);
    const [row] = await rowsOf(record.sessionId);
    assert.deepEqual([row?.status, row?.video, row?.durationMs], ['incomplete', 'hls', 4000]);
    assert.ok(row?.expiresAt);
    assert.equal((await rowsOf(running.sessionId))[0]?.status, 'recording');
    assert.deepEqual(fixture.sessions.noted, [[record.sessionId, 'incomplete']]);
    await fixture.recordings.stop();
  });

  it('recovery of recordings ends those of lost workers without reading their files, and no other worker’s', async (test) => {
    const fixture = createRecordings(test);
    await insertLostWorker(served, 'wrk_silent');
    const silent = recordOf({ workerId: 'wrk_silent' });
    const alive = recordOf({ workerId: 'wrk_alive' });
    for (const record of [silent, alive]) await insertRecording(served.store, record);
    await turnOf(fixture.recordings.recovery);
    assert.deepEqual(
      [(await rowsOf(silent.sessionId))[0]?.status, (await rowsOf(alive.sessionId))[0]?.status],
      ['incomplete', 'recording'],
    );
  });

  it('recovery of recordings continues with the others when one cannot be repaired, and retries that one', async (test) => {
    const fixture = createRecordings(test);
    const [stuck, other] = [recordOf(), recordOf()];
    for (const { recId } of [stuck, other]) {
      createFolder(fixture.folderOf(recId));
      writeFileSync(join(fixture.folderOf(recId), 'frames.mjpeg'), 'one');
      writeFileSync(join(fixture.folderOf(recId), 'frames.ndjson'), '{"t_ms":700,"offset":0,"length":3}\n{"t_ms"');
    }
    mkdirSync(join(fixture.folderOf(stuck.recId), 'frames.ndjson.new'));
    for (const record of [stuck, other]) await insertRecording(served.store, record);
    await turnOf(fixture.recordings.recovery);
    assert.deepEqual([(await rowsOf(stuck.sessionId))[0]?.status, (await rowsOf(other.sessionId))[0]?.status], ['recording', 'incomplete']);
    rmSync(join(fixture.folderOf(stuck.recId), 'frames.ndjson.new'), { recursive: true });
    await turnOf(fixture.recordings.recovery);
    assert.equal((await rowsOf(stuck.sessionId))[0]?.status, 'incomplete');
  });

  it('recovery of recordings reads the files of its own that another worker has ended meanwhile', async (test) => {
    const fixture = createRecordings(test);
    const givenUp = recordOf({ status: 'incomplete', endedAt: startedAt, expiresAt: new Date(startedAt.getTime() + dayMs) });
    createFolder(fixture.folderOf(givenUp.recId));
    writeFileSync(join(fixture.folderOf(givenUp.recId), 'frames.mjpeg'), 'one');
    writeFileSync(join(fixture.folderOf(givenUp.recId), 'frames.ndjson'), '{"t_ms":700,"offset":0,"length":3}\n');
    await insertRecording(served.store, givenUp);
    await turnOf(fixture.recordings.recovery);
    const [row] = await rowsOf(givenUp.sessionId);
    assert.deepEqual([row?.status, row?.video, row?.durationMs], ['incomplete', 'frames', 700]);
  });
});

describe('pruning', () => {
  const over = (over: Partial<ReturnType<typeof recordOf>> = {}) =>
    recordOf({ status: 'complete', video: 'hls', endedAt: startedAt, expiresAt: new Date(startedAt.getTime() + dayMs), ...over });

  it('pruning of recordings deletes expired files and rows, and lists none of them from that moment on', async (test) => {
    const fixture = createRecordings(test);
    const [due, retained] = [over(), over({ expiresAt: new Date(startedAt.getTime() + 2 * dayMs) })];
    for (const record of [due, retained]) {
      createFolder(fixture.folderOf(record.recId));
      await insertRecording(served.store, record);
    }
    fixture.sessions.known.add(due.sessionId);
    fixture.clock.advance(dayMs);
    assert.deepEqual(await fixture.recordings.list('anna', due.sessionId), []);
    await assert.rejects(
      fixture.recordings.get({ owner: 'anna', sessionId: due.sessionId, recId: due.recId }),
      hasCode('recording_not_found'),
    );
    await turnOf(fixture.recordings.pruning);
    assert.deepEqual([existsSync(fixture.folderOf(due.recId)), (await rowsOf(due.sessionId)).length], [false, 0]);
    assert.deepEqual([existsSync(fixture.folderOf(retained.recId)), (await rowsOf(retained.sessionId)).length], [true, 1]);
  });

  it('pruning of recordings deletes folders without a row, and rows without a folder', async (test) => {
    const fixture = createRecordings(test);
    const [stray, foreign] = [newId('rec'), 'notes-of-the-operator'];
    for (const name of [stray, foreign]) mkdirSync(fixture.folderOf(name));
    const rowOnly = over();
    await insertRecording(served.store, rowOnly);
    const running = begin(fixture);
    running.ready();
    await turnOf(fixture.recordings.pruning);
    assert.deepEqual(
      [existsSync(fixture.folderOf(stray)), existsSync(fixture.folderOf(foreign)), existsSync(fixture.folderOf(running.recId))],
      [false, true, true],
    );
    assert.equal((await rowsOf(rowOnly.sessionId)).length, 0);
    assert.equal(fixture.recordings.size, 1);
    await fixture.recordings.stop();
  });

  it('pruning of recordings leaves another worker’s rows until that worker had a day to do it', async (test) => {
    const fixture = createRecordings(test);
    const other = over({ workerId: 'wrk_other' });
    await insertRecording(served.store, other);
    fixture.clock.advance(dayMs + 1000);
    await turnOf(fixture.recordings.pruning);
    assert.equal((await rowsOf(other.sessionId)).length, 1);
    fixture.clock.advance(dayMs);
    await turnOf(fixture.recordings.pruning);
    assert.equal((await rowsOf(other.sessionId)).length, 0);
  });
});
