import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { getSession, listRecordings } from '@berth/contract';
import { comparable, eventually, startApp, type TestApp } from '../../harness.ts';
import { endRecorded, recordedSession, recordingOf, recordingSession } from '../../prepare/recorded-session.ts';
import { newId } from '@berth/lib/ids.ts';
import { machineOf } from '../../contract/session-states.ts';

let served: TestApp;
before(async () => {
  served = await startApp();
});
after(() => served.close());

const dayMs = 24 * 3_600_000;

describe('200', () => {
  it('GET /v1/session/{session_id}/recordings returns a recording in progress and its player address', async () => {
    const session = await recordingSession(served);
    const { sessionId, recId } = session;
    const recording = await recordingOf(served, session);
    assert.deepEqual(
      [recording.rec_id, recording.session_id, recording.status, recording.ended_at, recording.expires_at, recording.truncated],
      [recId, sessionId, 'recording', null, null, false],
    );
    assert.equal(recording.url, `${served.url}/v1/session/${sessionId}/recordings/${recId}/index.html`);
    assert.deepEqual(recording.assets.slice(0, 2), ['index.html', 'recording.json']);
    const { body } = await served.call(getSession, { params: { session_id: sessionId } });
    assert.deepEqual(body.recording, { enabled: true, rec_id: recId, status: 'recording' });
    assert.equal(body.connections.viewers, 0, 'the recorder is not a viewer');
    await endRecorded(served, session);
  });

  it('GET /v1/session/{session_id}/recordings returns the finished recording and its expiry, also in the session', async () => {
    const session = await recordedSession(served);
    const recording = await recordingOf(served, session);
    assert.deepEqual([recording.status, recording.video, recording.truncated], ['complete', 'frames', false]);
    assert.ok(recording.size_bytes > 0);
    const retentionMs = Date.parse(recording.expires_at ?? '') - Date.parse(recording.ended_at ?? '');
    assert.equal(retentionMs, 30 * dayMs);
    assert.deepEqual(recording.assets, [
      'index.html',
      'recording.json',
      'events.ndjson',
      'har.json',
      'poster.jpg',
      'frames.mjpeg',
      'frames.ndjson',
    ]);
    const { body } = await served.call(getSession, { params: { session_id: session.sessionId } });
    assert.deepEqual(body.recording, { enabled: true, rec_id: session.recId, status: 'complete' });
  });

  it('GET /v1/session/{session_id}/recordings keeps recordings for the plan’s retention', async () => {
    const key = await served.ownerKey('somebody-on-trial', 'free');
    const session = await recordedSession(served, { key });
    const { expires_at, ended_at } = await recordingOf(served, session, key);
    assert.equal(Date.parse(expires_at ?? '') - Date.parse(ended_at ?? ''), dayMs);
  });

  it('GET /v1/session/{session_id}/recordings is empty for a session without recording', async () => {
    const { session_id } = await served.create();
    assert.deepEqual((await served.call(listRecordings, { params: { session_id } })).body, []);
  });

  it('GET /v1/session/{session_id}/recordings returns the recording of a crashed session', async () => {
    const session = await recordingSession(served);
    await eventually('there is a frame', async () => (await recordingOf(served, session)).assets.includes('poster.jpg'));
    machineOf(served, session.sessionId).crash();
    await eventually('it has ended', async () => (await recordingOf(served, session)).status !== 'recording');
    assert.deepEqual([(await recordingOf(served, session)).status, (await recordingOf(served, session)).video], ['complete', 'frames']);
  });

  it('GET /v1/session/{session_id}/recordings lists no deleted file', async () => {
    const session = await recordedSession(served);
    rmSync(`${session.folder}/har.json`);
    assert.ok(!(await recordingOf(served, session)).assets.includes('har.json'));
  });

  it('GET /v1/session/{session_id}/recordings does not reset the idle timer', async () => {
    const session = await recordingSession(served);
    const readyMs = Date.parse((await recordingOf(served, session)).started_at);
    await eventually('some time has passed', () => Date.now() > readyMs + 20);
    const drawnMs = Date.now();
    machineOf(served, session.sessionId).browser.draw(Buffer.from('another picture'));
    await eventually('it is stored', async () => (await recordingOf(served, session)).size_bytes > 0);
    const { body } = await served.call(getSession, { params: { session_id: session.sessionId } });
    assert.ok(Date.parse(body.last_activity_at) < drawnMs);
    await endRecorded(served, session);
  });
});

describe('404 session_not_found', () => {
  it('GET /v1/session/{session_id}/recordings answers 404 session_not_found when there is neither a session nor a recording', async () => {
    for (const session_id of [newId('ses'), 'nothing', '..%2f', '\0', '💥'])
      await served.refuse(listRecordings, 'session_not_found', { params: { session_id } });
  });

  it('GET /v1/session/{session_id}/recordings answers 404 session_not_found for a foreign id with the same bytes as an unknown id', async () => {
    const { sessionId } = await recordedSession(served);
    const key = await served.ownerKey('stranger');
    const foreign = await served.refuse(listRecordings, 'session_not_found', { params: { session_id: sessionId }, key });
    const unknown = await served.refuse(listRecordings, 'session_not_found', { params: { session_id: newId('ses') }, key });
    assert.equal(comparable(foreign.reply), comparable(unknown.reply));
  });
});
