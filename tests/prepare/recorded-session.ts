/** Recorded sessions on simulated machines: single frames, because there is no encoder. */
import { join } from 'node:path';
import { endSession, getSession, listRecordings, type RecordingResponse } from '@berth/contract';
import { eventually, type TestApp } from '../harness.ts';
import { machineOf } from '../contract/session-states.ts';

export interface RecordedSession {
  sessionId: string;
  recId: string;
  /** Folder of the recording on this host's disk. */
  folder: string;
}

/** A session with a recording in progress that has a frame. */
export async function recordingSession(
  served: TestApp,
  { key = served.key, ...body }: { key?: string } & Record<string, unknown> = {},
): Promise<RecordedSession> {
  const { session_id: sessionId, recording } = await served.create({ record: true, ...body }, { key });
  const recId = recording.rec_id ?? '';
  const isWatched = (): boolean => machineOf(served, sessionId).browser.screencasts.length > 0;
  await eventually('the screencast has started', isWatched);
  return { sessionId, recId, folder: join(served.dataDir, 'recordings', recId) };
}

/** An ended session with a complete recording. */
export async function recordedSession(served: TestApp, options: { key?: string } & Record<string, unknown> = {}): Promise<RecordedSession> {
  const session = await recordingSession(served, options);
  await eventually('there is a frame', async () => (await recordingOf(served, session, options.key)).assets.includes('poster.jpg'));
  await endRecorded(served, session, options.key);
  return session;
}

export async function endRecorded(served: TestApp, { sessionId }: RecordedSession, key: string = served.key): Promise<void> {
  const request = { params: { session_id: sessionId }, key };
  await served.call(endSession, request);
  await eventually('the recording has ended', async () => (await served.call(getSession, request)).body.recording.status !== 'recording');
}

/** The session's only recording, as the API returns it. */
export async function recordingOf(served: TestApp, { sessionId }: RecordedSession, key: string = served.key): Promise<RecordingResponse> {
  const { body } = await served.call(listRecordings, { params: { session_id: sessionId }, key });
  const [recording] = body;
  if (body.length !== 1 || !recording) throw new Error(`the session has ${body.length} recordings`);
  return recording;
}
