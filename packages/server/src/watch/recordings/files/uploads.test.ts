import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, beforeEach, describe, it, type TestContext } from 'node:test';
import { ServiceError } from '@berth/contract';
import { createTestDisk } from '../../../../testing/disk.ts';
import { ManualClock } from '@berth/lib/clock.ts';
import { silentLog } from '@berth/lib/log.ts';
import type { Loop } from '@berth/lib/loop.ts';
import { Objects, openBackend, openObjects } from '../../../objects/objects.ts';
import { drop, openTestBucket, type TestBucket } from '../../../../testing/objects.ts';
import { testStore, type TestStore } from '../../../../testing/test-store.ts';
import { createFolder } from './folder.ts';
import { writeInfo } from '../info.ts';
import { playlistOf, recordOf } from '../../../../testing/recordings.ts';
import type { RecordingRecord } from '../recording.ts';
import { Recordings, type RecordingsDeps } from '../recordings.ts';
import { existingRecordings, insertRecording } from '../store.ts';

const dayMs = 24 * 3_600_000;
const never = new AbortController().signal;
const hasCode =
  (code: string) =>
  (error: unknown): boolean =>
    error instanceof ServiceError && error.code === code;

let served: TestStore;
let bucket: TestBucket;
before(async () => {
  [served, bucket] = await Promise.all([testStore(), openTestBucket()]);
  const owners = [{ owner_id: 'anna', tier: 'self_hosted' }];
  await served.store.tables<{ owners: { owner_id: string; tier: string } }>().insertInto('owners').values(owners).execute();
});
beforeEach(async () => {
  bucket.fault = null;
  await served.store.tables<{ recordings: object }>().deleteFrom('recordings').execute();
});
after(async () => {
  await bucket.close();
  await served.drop();
});

/** A worker with a disk of its own, and the bucket that all share. */
async function createWorker(test: TestContext, workerId: string, over: Partial<RecordingsDeps> = {}) {
  const dataDir = mkdtempSync(join(tmpdir(), 'berth-uploads-'));
  test.after(() => rmSync(dataDir, { recursive: true, force: true }));
  const clock = new ManualClock(new Date());
  const objects = await openObjects(bucket.place, { store: served.store, clock, log: silentLog });
  test.after(() => objects.close());
  const disk = createTestDisk();
  await disk.refresh();
  const recordings = new Recordings({
    ...{ store: served.store, clock, log: silentLog, dataDir, workerId, encoders: null, objects, disk },
    sessions: { onReady: () => {}, onEnded: () => {}, setRecordingStatus: () => Promise.resolve(), get: () => Promise.reject(new Error()) },
    owners: { tierOf: () => Promise.reject(new Error()) },
    limits: { bytesMax: 1024 ** 3, freeBytesMin: 0 },
    silentWorkers: () => Promise.resolve([]),
    ...over,
  });
  const loop = (name: string): Loop => recordings.loops.find((each) => each.name === name) ?? assert.fail(name);
  return { recordings, objects, clock, disk, workerId, folderOf: (recId: string) => join(dataDir, 'recordings', recId), loop };
}
type Worker = Awaited<ReturnType<typeof createWorker>>;

async function turnOf(loop: Loop): Promise<string | null> {
  loop.nudge();
  await loop.idle();
  return loop.status.lastError;
}

const endedAt = new Date();

/** A finished recording on the disk of a worker, with a video of two segments and one that the playlist does not list. */
async function finished(
  { folderOf, workerId }: Pick<Worker, 'folderOf' | 'workerId'>,
  over: Partial<RecordingRecord> = {},
): Promise<RecordingRecord> {
  const expiresAt = new Date(endedAt.getTime() + 7 * dayMs);
  const record = recordOf({ workerId, status: 'complete', video: 'hls', startedAt: endedAt, endedAt, sizeBytes: 5000, expiresAt, ...over });
  const folder = folderOf(record.recId);
  createFolder(folder);
  for (const name of ['events.ndjson', 'har.json', 'poster.jpg']) writeFileSync(join(folder, name), `of ${name}`);
  for (const name of ['init.mp4', 'seg00000.m4s', 'seg00001.m4s', 'seg00002.m4s'])
    writeFileSync(join(folder, 'video', name), `of video ${name}`);
  writeFileSync(join(folder, 'video', 'video.m3u8'), playlistOf(['seg00000.m4s', 'seg00001.m4s']));
  writeFileSync(join(folder, 'video', 'evil.html'), 'of another');
  await writeInfo(folder, record);
  await insertRecording(served.store, record);
  return record;
}

const targetOf = ({ owner, sessionId, recId }: RecordingRecord) => ({ owner, sessionId, recId });

async function contentOf(worker: Worker, record: RecordingRecord, name: string, range?: { start: number; end: number }): Promise<string> {
  const file = await worker.recordings.open(targetOf(record), name);
  try {
    return await text(file.stream(range));
  } finally {
    await file.close();
  }
}

async function keysOf(objects: Objects): Promise<string[]> {
  const keys: string[] = [];
  for await (const page of objects.list('recordings/', never)) keys.push(...page.map(({ key }) => key));
  return keys;
}
const keysOfRecording = async ({ objects }: Worker, { recId }: RecordingRecord): Promise<string[]> =>
  (await keysOf(objects)).filter((key) => key.includes(recId));

const movie = 'of video init.mp4of video seg00000.m4sof video seg00001.m4s';

describe('a finished recording', () => {
  it('a finished recording is moved to the bucket and read by every worker, whole and in parts', async (test) => {
    const [here, other] = [await createWorker(test, 'wrk_here'), await createWorker(test, 'wrk_other')];
    const record = await finished(here);
    await turnOf(here.loop('recording-pruning'));
    assert.equal(here.disk.bytesOf('anna'), 5000);
    const [before] = await here.recordings.list('anna', record.sessionId);
    const info = await contentOf(here, record, 'recording.json');
    await assert.rejects(contentOf(other, record, 'video.mp4'), hasCode('asset_not_found'));

    assert.deepEqual(await other.recordings.locationOf(record.sessionId), { owner: 'anna', workerId: 'wrk_here' });

    assert.equal(await turnOf(here.loop('recording-uploads')), null);
    assert.equal(await other.recordings.locationOf(record.sessionId), undefined, 'every worker has it');
    assert.equal(here.recordings.uploadsPending, 0);
    assert.equal(existsSync(here.folderOf(record.recId)), false);
    assert.equal(here.disk.bytesOf('anna'), 0);
    assert.deepEqual(await keysOfRecording(here, record), [`recordings/${record.recId}/files`, `recordings/${record.recId}/index.json`]);
    for (const worker of [here, other]) {
      const [view] = await worker.recordings.list('anna', record.sessionId);
      assert.deepEqual(view?.assets, before?.assets);
      assert.equal(await contentOf(worker, record, 'recording.json'), info);
      for (const name of ['events.ndjson', 'har.json', 'poster.jpg']) assert.equal(await contentOf(worker, record, name), `of ${name}`);
      for (const name of ['init.mp4', 'seg00001.m4s', 'seg00002.m4s'])
        assert.equal(await contentOf(worker, record, name), `of video ${name}`);
      assert.equal(await contentOf(worker, record, 'video.m3u8'), playlistOf(['seg00000.m4s', 'seg00001.m4s']));
      assert.equal(await contentOf(worker, record, 'video.mp4'), movie);
      assert.equal(await contentOf(worker, record, 'video.mp4', { start: 10, end: 25 }), movie.slice(10, 26));
      assert.equal(await contentOf(worker, record, 'seg00001.m4s', { start: 3, end: 7 }), 'video');
      for (const name of ['evil.html', 'seg00003.m4s', 'files', '../x'])
        await assert.rejects(contentOf(worker, record, name), hasCode('asset_not_found'));
      const poster = await worker.recordings.open(targetOf(record), 'poster.jpg');
      assert.deepEqual(
        [poster.contentType, poster.cacheControl, poster.ranges, poster.policy],
        ['image/jpeg', 'private, max-age=3600', true, undefined],
      );
    }
    await assert.rejects(other.recordings.open({ ...targetOf(record), owner: 'bert' }, 'video.mp4'), hasCode('recording_not_found'));
  });

  it('a finished recording is not removed while somebody reads it', async (test) => {
    const here = await createWorker(test, 'wrk_here');
    const record = await finished(here);
    const file = await here.recordings.open(targetOf(record), 'video.mp4');
    assert.equal(await turnOf(here.loop('recording-uploads')), null);
    assert.equal(await text(file.stream()), movie);
    assert.equal(existsSync(here.folderOf(record.recId)), true);
    await file.close();
    assert.equal(await turnOf(here.loop('recording-uploads')), null);
    assert.equal(existsSync(here.folderOf(record.recId)), false);
  });

  it('a finished recording is listed whole while it is moved', async (test) => {
    const here = await createWorker(test, 'wrk_here');
    const record = await finished(here);
    // So many that to remove them takes as long as to list them.
    for (let n = 10; n < 210; n += 1)
      writeFileSync(join(here.folderOf(record.recId), 'video', `seg${String(n).padStart(5, '0')}.m4s`), 'x');
    const listed = async (): Promise<string[] | undefined> => (await here.recordings.list('anna', record.sessionId))[0]?.assets;
    const all = await listed();
    // A turn leaves the folder where it is being listed.
    for (let turns = 0; turns < 20 && existsSync(here.folderOf(record.recId)); turns += 1) {
      const state = { isOver: false };
      const turn = turnOf(here.loop('recording-uploads')).finally(() => (state.isOver = true));
      while (!state.isOver) assert.deepEqual(await listed(), all);
      assert.equal(await turn, null);
    }
    assert.deepEqual(await listed(), all);
  });

  it('a finished recording waits on the disk of its worker while the bucket is down, and is counted there', async (test) => {
    const here = await createWorker(test, 'wrk_here');
    const records = [await finished(here), await finished(here)];
    bucket.fault = drop;
    assert.match((await turnOf(here.loop('recording-uploads'))) ?? '', /object storage/);
    assert.equal(here.recordings.uploadsPending, 2);
    assert.equal(await turnOf(here.loop('recording-pruning')), null);
    assert.equal(here.disk.bytesOf('anna'), 10_000);
    for (const record of records) assert.equal(await contentOf(here, record, 'video.mp4'), movie);
    bucket.fault = null;
    assert.equal(await turnOf(here.loop('recording-uploads')), null);
    assert.equal(here.recordings.uploadsPending, 0);
    for (const record of records) assert.equal(await contentOf(here, record, 'video.mp4'), movie);
  });

  it('a finished recording that cannot be read is unavailable, not missing', async (test) => {
    const [here, other] = [await createWorker(test, 'wrk_here'), await createWorker(test, 'wrk_other')];
    const record = await finished(here);
    assert.equal(await turnOf(here.loop('recording-uploads')), null);
    bucket.fault = drop;
    await assert.rejects(other.recordings.open(targetOf(record), 'video.mp4'), hasCode('store_unavailable'));
  });

  it('a finished recording is uploaded again after a crash between its upload and its row', async (test) => {
    const here = await createWorker(test, 'wrk_here');
    const record = await finished(here);
    // The first object is there, the second is not: no index, no recording.
    bucket.fault = (request, response) =>
      request.method === 'PUT' && request.url?.includes('index.json') === true ? drop(request, response) : 'pass';
    assert.match((await turnOf(here.loop('recording-uploads'))) ?? '', /object storage/);
    assert.deepEqual(await keysOfRecording(here, record), [`recordings/${record.recId}/files`]);
    bucket.fault = null;
    writeFileSync(join(here.folderOf(record.recId), 'poster.jpg'), 'another poster, which is longer');
    assert.equal(await turnOf(here.loop('recording-uploads')), null);
    assert.equal(await contentOf(here, record, 'poster.jpg'), 'another poster, which is longer');
    assert.equal(await contentOf(here, record, 'video.mp4'), movie);
  });

  it('a finished recording that a lost worker had uploaded without recording it is read by the others', async (test) => {
    const here = await createWorker(test, 'wrk_here');
    const record = await finished(here);
    assert.equal(await turnOf(here.loop('recording-uploads')), null);
    await served.store
      .tables<{ recordings: { uploaded_at: Date | null } }>()
      .updateTable('recordings')
      .set({ uploaded_at: null })
      .execute();
    const other = await createWorker(test, 'wrk_other', { silentWorkers: () => Promise.resolve(['wrk_here']) });
    const rows = served.store.tables<{ recordings: { uploaded_at: Date | null } }>().selectFrom('recordings').select('uploaded_at');
    assert.equal(await turnOf(other.loop('recording-objects')), null);
    assert.notEqual((await rows.executeTakeFirstOrThrow()).uploaded_at, null);
    assert.equal(await contentOf(other, record, 'video.mp4'), movie);
  });
});

describe('a recording in the bucket', () => {
  it('a recording in the bucket is deleted by any worker when it expires, and waits for that while the bucket is down', async (test) => {
    const [here, other] = [await createWorker(test, 'wrk_here'), await createWorker(test, 'wrk_other')];
    const record = await finished(here);
    const retained = await finished(here, { expiresAt: new Date(endedAt.getTime() + 30 * dayMs) });
    assert.equal(await turnOf(here.loop('recording-uploads')), null);
    other.clock.advance(7 * dayMs + 1000);
    bucket.fault = (request, response) => (request.method === 'DELETE' ? drop(request, response) : 'pass');
    assert.match((await turnOf(other.loop('recording-pruning'))) ?? '', /object storage/);
    assert.deepEqual([...(await existingRecordings(served.store, [record.recId]))], [record.recId]);
    bucket.fault = null;
    assert.equal(await turnOf(other.loop('recording-pruning')), null);
    assert.deepEqual(await keysOfRecording(other, record), []);
    assert.deepEqual([...(await existingRecordings(served.store, [record.recId, retained.recId]))], [retained.recId]);
    assert.equal(await contentOf(here, retained, 'video.mp4'), movie);
  });

  it('a recording in the bucket without a row is deleted once it is a day old, and nothing of another installation', async (test) => {
    const here = await createWorker(test, 'wrk_here');
    const record = await finished(here);
    assert.equal(await turnOf(here.loop('recording-uploads')), null);
    await served.store.tables<{ recordings: object }>().deleteFrom('recordings').execute();
    const foreign = new Objects({
      backend: await openBackend(bucket.place),
      prefix: `${bucket.place.prefix}another/`,
      clock: here.clock,
      log: silentLog,
    });
    test.after(() => foreign.close());
    const foreignKey = `recordings/${record.recId}/index.json`;
    await foreign.put(
      foreignKey,
      (async function* () {
        yield Buffer.from('{}');
      })(),
    );
    assert.equal(await turnOf(here.loop('recording-objects')), null);
    assert.equal((await keysOfRecording(here, record)).length, 2);
    here.clock.advance(dayMs + 60_000);
    assert.equal(await turnOf(here.loop('recording-objects')), null);
    assert.deepEqual(await keysOfRecording(here, record), []);
    assert.deepEqual(await keysOf(foreign), [foreignKey]);
  });
});

describe('the folder of a recording', () => {
  it('the folder of a recording that an upload has left behind is removed at the next iteration', async (test) => {
    const here = await createWorker(test, 'wrk_here');
    const record = await finished(here, { uploadedAt: new Date() });
    mkdirSync(join(here.folderOf('rec_none')));
    assert.equal(await turnOf(here.loop('recording-uploads')), null);
    assert.deepEqual([existsSync(here.folderOf(record.recId)), existsSync(here.folderOf('rec_none'))], [false, true]);
  });
});
