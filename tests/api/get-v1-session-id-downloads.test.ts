import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { listDownloads } from '@berth/contract';
import { eventually, startApp, type TestApp } from '../harness.ts';
import { endedSession, plantDownload, startingSession } from '../session-states.ts';

let served: TestApp;
let sessionId = '';
before(async () => {
  served = await startApp();
  sessionId = (await served.create()).session_id;
});
after(() => served.close());

describe('200', () => {
  it('GET /v1/session/{session_id}/downloads is empty without downloads', async () => {
    assert.deepEqual((await served.call(listDownloads, { params: { session_id: sessionId } })).body, []);
  });

  it('GET /v1/session/{session_id}/downloads lists downloads with their progress, newest first', async () => {
    const { session_id } = await served.create();
    const data = Buffer.from('hello');
    const whole = plantDownload(served, session_id, { data, name: '../../etc/passwd' });
    const coming = plantDownload(served, session_id, { data, state: 'inProgress' });
    const cancelled = plantDownload(served, session_id, { data, state: 'canceled' });
    await eventually(
      'the browser has reported them',
      async () => (await served.call(listDownloads, { params: { session_id } })).body.length === 3,
    );
    const { body } = await served.call(listDownloads, { params: { session_id } });
    assert.deepEqual(
      body.map(({ download_id, status, suggested_filename, received_bytes, finished_at }) => [
        download_id,
        status,
        suggested_filename,
        received_bytes,
        finished_at !== null,
      ]),
      [
        [cancelled, 'cancelled', 'file.bin', 1, true],
        [coming, 'in_progress', 'file.bin', 1, false],
        [whole, 'completed', 'passwd', 5, true],
      ],
    );
  });
});

describe('404 session_not_found', () => {
  it('GET /v1/session/{session_id}/downloads answers 404 session_not_found for an unknown session', async () => {
    await served.refuse(listDownloads, 'session_not_found', { params: { session_id: 'ses_none' } });
  });
});

describe('409 session_not_ready', () => {
  it('GET /v1/session/{session_id}/downloads answers 409 session_not_ready and asks to retry while the session starts', async () => {
    const { sessionId: starting, release } = await startingSession(served);
    await served.refuse(listDownloads, 'session_not_ready', { params: { session_id: starting } });
    await release();
  });
});

describe('409 session_ended', () => {
  it('GET /v1/session/{session_id}/downloads answers 409 session_ended with the end reason after the session has ended', async () => {
    const { details } = await served.refuse(listDownloads, 'session_ended', { params: { session_id: await endedSession(served) } });
    assert.equal(details['ended_reason'], 'requested');
  });
});
