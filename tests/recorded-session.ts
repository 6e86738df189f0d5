/** Sessions that are recorded, on machines that are simulated: single pictures, since there is no encoder. */
import { join } from 'node:path';
import { endSession, getSession, listRecordings, type RecordingResponse } from '@berth/contract';
import { eventually, type TestApp } from './harness.ts';
import { machineOf } from './session-states.ts';

export interface RecordedSession {
  sessionId: string;
  recId: string;
  /** On this host's disk. */
  folder: string;
}

/** A session that is being recorded, with a picture. */
export async function recordingSession(
  served: TestApp,
  { key = served.key, ...body }: { key?: string } & Record<string, unknown> = {},
): Promise<RecordedSession> {
  const { session_id: sessionId, recording } = await served.create({ record: true, ...body }, { key });
  const recId = recording.rec_id ?? '';
  const isWatched = (): boolean => machineOf(served, sessionId).browser.screencasts.length > 0;
  await eventually('the browser is watched', isWatched);
  return { sessionId, recId, folder: join(served.dataDir, 'recordings', recId) };
}

/** The same, when it is over and all of it is written down. */
export async function recordedSession(served: TestApp, options: { key?: string } & Record<string, unknown> = {}): Promise<RecordedSession> {
  const session = await recordingSession(served, options);
  await eventually('there is a picture', async () => (await recordingOf(served, session, options.key)).assets.includes('poster.jpg'));
  await endRecorded(served, session, options.key);
  return session;
}

export async function endRecorded(served: TestApp, { sessionId }: RecordedSession, key: string = served.key): Promise<void> {
  const request = { params: { session_id: sessionId }, key };
  await served.call(endSession, request);
  await eventually('the recording is over', async () => (await served.call(getSession, request)).body.recording.status !== 'recording');
}

/** The session's only recording, as it is told. */
export async function recordingOf(served: TestApp, { sessionId }: RecordedSession, key: string = served.key): Promise<RecordingResponse> {
  const { body } = await served.call(listRecordings, { params: { session_id: sessionId }, key });
  const [recording] = body;
  if (body.length !== 1 || !recording) throw new Error(`the session has ${body.length} recordings`);
  return recording;
}
