import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { endSession, getDownload, listDownloads } from '@berth/contract';
import { eventually, startApp, type TestApp } from '../../harness.ts';
import { hang, machineOf, plantDownload } from '../../contract/session-states.ts';

let served: TestApp;
let sessionId = '';
before(async () => {
  served = await startApp();
  sessionId = (await served.create()).session_id;
});
after(() => served.close());

const data = Buffer.from(Array.from({ length: 300_000 }, (_, at) => (at * 7 + (at >> 8)) & 0xff));
const sha256 = createHash('sha256').update(data).digest('hex');

async function planted(options: Parameters<typeof plantDownload>[2]): Promise<string> {
  const id = plantDownload(served, sessionId, options);
  await eventually('the browser has reported it', async () =>
    (await served.call(listDownloads, { params: { session_id: sessionId } })).body.some(({ download_id }) => download_id === id),
  );
  return id;
}

const take = (id: string, method = 'GET') =>
  fetch(`${served.url}/v1/session/${sessionId}/downloads/${id}`, { method, headers: { authorization: `Bearer ${served.key}` } });

describe('200', () => {
  it('GET /v1/session/{session_id}/downloads/{download_id} returns the file as an attachment with its size and digest', async () => {
    const response = await take(await planted({ data, name: 'catalogue.bin' }));
    assert.equal(response.status, 200);
    assert.deepEqual(Buffer.from(await response.arrayBuffer()), data);
    assert.deepEqual(
      ['content-length', 'x-content-sha256', 'content-disposition', 'content-type', 'x-content-type-options'].map((name) =>
        response.headers.get(name),
      ),
      [String(data.length), sha256, 'attachment; filename=catalogue.bin', 'application/octet-stream', 'nosniff'],
    );
  });

  for (const [name, shown] of [
    ['../../etc/passwd', 'attachment; filename=passwd'],
    ['..\\..\\boot.ini', 'attachment; filename=boot.ini'],
    ['invoice\u202efdp.exe', 'attachment; filename=invoicefdp.exe'],
    ['a\r\nset-cookie: x=y', 'attachment; filename="aset-cookie: x=y"'],
    ['Größe €.txt', `attachment; filename="Gr??e ?.txt"; filename*=UTF-8''Gr%C3%B6%C3%9Fe%20%E2%82%AC.txt`],
  ] as const)
    it(`GET /v1/session/{session_id}/downloads/{download_id} sanitizes the file name ${JSON.stringify(name)}`, async () => {
      const response = await take(await planted({ data: Buffer.from('x'), name }));
      assert.equal(response.headers.get('content-disposition'), shown);
      assert.equal(response.headers.get('set-cookie'), null);
      await response.arrayBuffer();
    });

  it('GET /v1/session/{session_id}/downloads/{download_id} returns the file repeatedly and concurrently', async () => {
    const id = await planted({ data });
    const all = await Promise.all(Array.from({ length: 5 }, async () => Buffer.from(await (await take(id)).arrayBuffer()).equals(data)));
    assert.deepEqual(all, Array(5).fill(true));
  });

  it('GET /v1/session/{session_id}/downloads/{download_id} returns an empty file', async () => {
    const response = await take(await planted({}));
    assert.deepEqual([response.status, response.headers.get('content-length'), await response.text()], [200, '0', '']);
  });

  it('GET /v1/session/{session_id}/downloads/{download_id} returns only headers for HEAD', async () => {
    const response = await take(await planted({ data }), 'HEAD');
    assert.deepEqual(
      [response.headers.get('content-length'), response.headers.get('x-content-sha256'), await response.text()],
      [String(data.length), sha256, ''],
    );
  });

  it('GET /v1/session/{session_id}/downloads/{download_id} does not wait for drive calls', async () => {
    const { session_id } = await served.create();
    const hanging = await hang(served, session_id);
    const id = plantDownload(served, session_id, { data });
    await eventually(
      'the browser has reported it',
      async () => (await served.call(listDownloads, { params: { session_id } })).body.length === 1,
    );
    const { status } = await served.call(getDownload, { params: { session_id, download_id: id } });
    assert.equal(status, 200);
    await served.call(endSession, { params: { session_id } });
    await Promise.all(hanging);
  });
});

describe('404 download_not_found', () => {
  it('GET /v1/session/{session_id}/downloads/{download_id} answers 404 download_not_found for a cancelled download and says so', async () => {
    const download_id = await planted({ data, state: 'canceled' });
    const { details } = await served.refuse(getDownload, 'download_not_found', { params: { session_id: sessionId, download_id } });
    assert.deepEqual(details, { status: 'cancelled' });
  });

  it('GET /v1/session/{session_id}/downloads/{download_id} answers 404 download_not_found for unknown and malformed ids', async () => {
    for (const download_id of ['none', '../../har', '%2e%2e', 'constructor', '💥'])
      await served.refuse(getDownload, 'download_not_found', { params: { session_id: sessionId, download_id } });
  });

  it('GET /v1/session/{session_id}/downloads/{download_id} answers 404 download_not_found for a download of another session', async () => {
    const download_id = await planted({ data });
    const { session_id } = await served.create();
    await served.refuse(getDownload, 'download_not_found', { params: { session_id, download_id } });
  });

  it('GET /v1/session/{session_id}/downloads/{download_id} answers 404 download_not_found when the file was deleted', async () => {
    const download_id = await planted({ data });
    machineOf(served, sessionId).files.downloads.delete(download_id);
    await served.refuse(getDownload, 'download_not_found', { params: { session_id: sessionId, download_id } });
  });
});

describe('409 download_not_ready', () => {
  it('GET /v1/session/{session_id}/downloads/{download_id} answers 409 download_not_ready with the progress while the download runs', async () => {
    const download_id = await planted({ data, state: 'inProgress' });
    const { reply, details } = await served.refuse(getDownload, 'download_not_ready', { params: { session_id: sessionId, download_id } });
    assert.deepEqual(details, { received_bytes: 1, total_bytes: data.length });
    assert.equal(reply.headers.get('retry-after'), '1');
  });
});
