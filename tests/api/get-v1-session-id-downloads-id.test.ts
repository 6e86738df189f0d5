import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { endSession, getDownload, listDownloads } from '@berth/contract';
import { eventually, startApp, type TestApp } from '../harness.ts';
import { endedSession, hang, machineOf, plantDownload, startingSession } from '../session-states.ts';

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
  await eventually('the browser has told it', async () =>
    (await served.call(listDownloads, { params: { session_id: sessionId } })).body.some(({ download_id }) => download_id === id),
  );
  return id;
}

const take = (id: string, method = 'GET') =>
  fetch(`${served.url}/v1/session/${sessionId}/downloads/${id}`, { method, headers: { authorization: `Bearer ${served.key}` } });

describe('200', () => {
  it('gives the file, with its size and its digest, to be saved', async () => {
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
    it(`gives a harmless name to what a site calls ${JSON.stringify(name)}`, async () => {
      const response = await take(await planted({ data: Buffer.from('x'), name }));
      assert.equal(response.headers.get('content-disposition'), shown);
      assert.equal(response.headers.get('set-cookie'), null);
      await response.arrayBuffer();
    });

  it('gives it again, as often as it is asked for, and to several at once', async () => {
    const id = await planted({ data });
    const all = await Promise.all(Array.from({ length: 5 }, async () => Buffer.from(await (await take(id)).arrayBuffer()).equals(data)));
    assert.deepEqual(all, Array(5).fill(true));
  });

  it('gives an empty file too', async () => {
    const response = await take(await planted({}));
    assert.deepEqual([response.status, response.headers.get('content-length'), await response.text()], [200, '0', '']);
  });

  it('tells of the file without giving it for HEAD', async () => {
    const response = await take(await planted({ data }), 'HEAD');
    assert.deepEqual(
      [response.headers.get('content-length'), response.headers.get('x-content-sha256'), await response.text()],
      [String(data.length), sha256, ''],
    );
  });

  it('does not wait for whoever drives the session', async () => {
    const { session_id } = await served.create();
    const hanging = await hang(served, session_id);
    const id = plantDownload(served, session_id, { data });
    await eventually(
      'the browser has told it',
      async () => (await served.call(listDownloads, { params: { session_id } })).body.length === 1,
    );
    const { status } = await served.call(getDownload, { params: { session_id, download_id: id } });
    assert.equal(status, 200);
    await served.call(endSession, { params: { session_id } });
    await Promise.all(hanging);
  });
});

describe('404 session_not_found', () => {
  it('is the answer where there is no session', async () => {
    await served.refuse(getDownload, 'session_not_found', { params: { session_id: 'ses_none', download_id: 'none' } });
  });
});

describe('404 download_not_found', () => {
  it('is the answer for one that was cancelled, and says so', async () => {
    const download_id = await planted({ data, state: 'canceled' });
    const { details } = await served.refuse(getDownload, 'download_not_found', { params: { session_id: sessionId, download_id } });
    assert.deepEqual(details, { status: 'cancelled' });
  });

  it('is the answer for one that never was, whatever it is called', async () => {
    for (const download_id of ['none', '../../har', '%2e%2e', 'constructor', '💥'])
      await served.refuse(getDownload, 'download_not_found', { params: { session_id: sessionId, download_id } });
  });

  it('is the answer for one of another session', async () => {
    const download_id = await planted({ data });
    const { session_id } = await served.create();
    await served.refuse(getDownload, 'download_not_found', { params: { session_id, download_id } });
  });

  it('is the answer where the file has gone', async () => {
    const download_id = await planted({ data });
    await machineOf(served, sessionId).files.removeDownload(download_id);
    await served.refuse(getDownload, 'download_not_found', { params: { session_id: sessionId, download_id } });
  });
});

describe('409 download_not_ready', () => {
  it('is the answer while the file still comes, with how far it is', async () => {
    const download_id = await planted({ data, state: 'inProgress' });
    const { reply, details } = await served.refuse(getDownload, 'download_not_ready', { params: { session_id: sessionId, download_id } });
    assert.deepEqual(details, { received_bytes: 1, total_bytes: data.length });
    assert.equal(reply.headers.get('retry-after'), '1');
  });
});

describe('409 session_not_ready', () => {
  it('asks for a moment while the session starts', async () => {
    const { sessionId: starting, give } = await startingSession(served);
    await served.refuse(getDownload, 'session_not_ready', { params: { session_id: starting, download_id: 'none' } });
    await give();
  });
});

describe('409 session_ended', () => {
  it('is the answer when the session is over, with the reason', async () => {
    const { details } = await served.refuse(getDownload, 'session_ended', {
      params: { session_id: await endedSession(served), download_id: 'none' },
    });
    assert.equal(details['ended_reason'], 'requested');
  });
});
