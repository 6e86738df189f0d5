/** Recordings of one worker, played from object storage by another. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { getSettings, health, metrics, readRecordingAsset, revokeViewTokens } from '@berth/contract';
import { drop, openTestBucket, testCredentials, type TestBucket } from '../../packages/server/testing/objects.ts';
import { eventually } from '../harness.ts';
import { endRecorded, recordedSession, recordingOf, recordingSession, type RecordedSession } from '../prepare/recorded-session.ts';
import { cookieOf, open, tokenFor } from '../prepare/view-links.ts';
import { startFleet, type TestFleet } from './fleet.ts';

describe('recordings of a fleet with object storage', () => {
  let bucket: TestBucket;
  let fleet: TestFleet;
  before(async () => {
    bucket = await openTestBucket();
    // Nothing is forwarded: each worker answers for itself.
    fleet = await startFleet({ workers: 2, environment: { ...bucket.environment, BERTH_FLEET_LISTEN: '' } });
  });
  after(async () => {
    await fleet?.close();
    await bucket?.close();
  });

  const params = ({ sessionId, recId }: RecordedSession, asset_path: string) => ({ session_id: sessionId, rec_id: recId, asset_path });
  const path = ({ sessionId, recId }: RecordedSession, name: string): string => `/v1/session/${sessionId}/recordings/${recId}/${name}`;
  /** A recording of the second worker that is in the bucket alone. */
  const uploadedSession = async (): Promise<RecordedSession> => {
    const session = await recordedSession(fleet.worker(1));
    await eventually('it is uploaded', () => !existsSync(session.folder), 30_000);
    return session;
  };

  it('recordings of a fleet with object storage are served by every worker, whole and in parts, and as before', async () => {
    const session = await uploadedSession();
    const [mine, other] = await Promise.all([recordingOf(fleet.worker(1), session), recordingOf(fleet.worker(0), session)]);
    assert.deepEqual(
      [other.status, other.size_bytes, other.expires_at, other.assets],
      [mine.status, mine.size_bytes, mine.expires_at, mine.assets],
    );
    assert.ok(other.assets.includes('frames.mjpeg'));
    const key = { authorization: `Bearer ${fleet.key}` };
    const whole = await open(fleet.worker(1).url + path(session, 'events.ndjson'), key);
    assert.equal(whole.status, 200);
    const part = await open(fleet.worker(0).url + path(session, 'events.ndjson'), { ...key, range: 'bytes=5-14' });
    assert.deepEqual(
      [part.status, part.text, part.headers.get('content-range')],
      [206, whole.text.slice(5, 15), `bytes 5-14/${Buffer.byteLength(whole.text)}`],
    );
    assert.deepEqual(
      ['content-type', 'content-security-policy', 'cross-origin-resource-policy'].map((name) => part.headers.get(name)),
      ['application/x-ndjson; charset=utf-8', "default-src 'none'; sandbox", 'same-origin'],
    );
    await fleet.worker(0).refuse(readRecordingAsset, 'range_not_satisfiable', {
      params: params(session, 'events.ndjson'),
      headers: { range: 'bytes=9999999-' },
    });
    await fleet.worker(0).refuse(readRecordingAsset, 'asset_not_found', { params: params(session, 'seg00000.m4s') });
    await fleet.worker(0).refuse(readRecordingAsset, 'recording_not_found', {
      params: params(session, 'events.ndjson'),
      key: await fleet.worker(0).ownerKey('another'),
    });
  });

  it('recordings of a fleet with object storage are opened by links at every worker, until these are revoked', async () => {
    const session = await uploadedSession();
    const token = await tokenFor(fleet.worker(1), session.sessionId, 'recording');
    const opened = await open(`${fleet.worker(0).url}${path(session, 'poster.jpg')}?token=${token}`);
    assert.equal(opened.status, 200);
    const cookie = cookieOf(opened);
    assert.equal((await open(fleet.worker(0).url + path(session, 'frames.mjpeg'), { cookie })).status, 200);
    await fleet.call(1, revokeViewTokens, { params: { session_id: session.sessionId } });
    assert.equal((await open(fleet.worker(0).url + path(session, 'frames.mjpeg'), { cookie })).status, 403);
  });

  it('recordings of a fleet with object storage are unavailable, not missing, while the bucket is down, and new ones wait for it', async () => {
    const [uploaded, running] = [await uploadedSession(), await recordingSession(fleet.worker(1))];
    await eventually('there is a frame', async () => (await recordingOf(fleet.worker(1), running)).assets.includes('poster.jpg'));
    const uploads = fleet.worker(1).app.loops.find(({ name }) => name === 'recording-uploads') ?? assert.fail('no such loop');
    bucket.fault = drop;
    try {
      await fleet.worker(0).refuse(readRecordingAsset, 'store_unavailable', { params: params(uploaded, 'frames.mjpeg') });
      await endRecorded(fleet.worker(1), running);
      assert.equal((await recordingOf(fleet.worker(1), running)).status, 'complete');
      await eventually(
        'its upload has failed, and it is counted',
        async () => {
          const { text } = await fleet.call(1, metrics);
          return (
            /^berth_object_requests_total\{operation="put",result="error"\} [1-9]/m.test(text) &&
            /^berth_recording_uploads_pending 1$/m.test(text)
          );
        },
        30_000,
      );
      await eventually(
        'its upload has failed three times',
        () => {
          uploads.nudge();
          return uploads.isFailing;
        },
        60_000,
      );
      const { status, body } = await fleet.call(1, health);
      const failing = { status: 'degraded', note: 'failing: recording-uploads' };
      assert.deepEqual([status, body.status, body.checks['loops']], [200, 'ok', failing], 'no worker has a better bucket');
    } finally {
      bucket.fault = null;
    }
    uploads.nudge();
    await eventually('it is uploaded', () => !existsSync(running.folder), 40_000);
    assert.equal((await fleet.call(0, readRecordingAsset, { params: params(running, 'frames.mjpeg') })).status, 200);
  });

  it('recordings of a fleet with object storage show no credentials in the settings', async () => {
    const { body, text } = await fleet.call(0, getSettings);
    const valueOf = (name: string) => body.settings.find((setting) => setting.name === name)?.value;
    assert.deepEqual(['BERTH_OBJECTS_BUCKET', 'BERTH_OBJECTS_ACCESS_KEY_ID', 'BERTH_OBJECTS_SECRET_ACCESS_KEY'].map(valueOf), [
      bucket.place.bucket,
      'set',
      'set',
    ]);
    assert.ok(!text.includes(testCredentials.secretAccessKey));
  });

  it('recordings of a fleet with object storage are uploaded by a worker that stops', async () => {
    const running = await recordingSession(fleet.worker(1));
    await eventually('there is a frame', async () => (await recordingOf(fleet.worker(1), running)).assets.includes('poster.jpg'));
    await fleet.stop(1);
    assert.equal(existsSync(running.folder), false);
    assert.equal((await fleet.call(0, readRecordingAsset, { params: params(running, 'frames.mjpeg') })).status, 200);
  });
});
