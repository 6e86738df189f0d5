import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { listDownloads } from '@berth/contract';
import { eventually, startApp, type TestApp } from '../../harness.ts';
import { plantDownload } from '../../contract/session-states.ts';

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
