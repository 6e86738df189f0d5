import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { endSession, listDownloads } from '@berth/contract';
import { eventually, startApp, type Reply, type TestApp } from '../../harness.ts';
import { assertError, plantDownload } from '../../contract/session-states.ts';
import { cookieOf, open, tokenFor, type LinkScope } from '../../prepare/view-links.ts';

let served: TestApp;
let sessionId = '';
before(async () => {
  served = await startApp();
  sessionId = (await served.create()).session_id;
});
after(() => served.close());

const planted = async (options: Parameters<typeof plantDownload>[2]): Promise<string> => {
  const id = plantDownload(served, sessionId, options);
  const list = async () => (await served.call(listDownloads, { params: { session_id: sessionId } })).body;
  await eventually('the browser has reported it', async () => (await list()).some(({ download_id }) => download_id === id));
  return id;
};
const cookieFor = async (scope: LinkScope, of = sessionId): Promise<string> =>
  cookieOf(await open(`${served.url}/v1/session/${of}/live-view?token=${await tokenFor(served, of, scope)}`));
const save = async (id: string, cookie?: string, of = sessionId): Promise<Reply> =>
  open(`${served.url}/v1/session/${of}/live-view/downloads/${id}`, cookie === undefined ? {} : { cookie });

describe('200', () => {
  it('GET /v1/session/{session_id}/live-view/downloads/{download_id} saves the file for a viewer with control', async () => {
    const id = await planted({ data: Buffer.from('some bytes'), name: 'report.pdf' });
    const { status, text, headers } = await save(id, await cookieFor('control'));
    assert.deepEqual([status, text], [200, 'some bytes']);
    assert.deepEqual(
      [headers.get('content-disposition'), headers.get('content-type'), headers.get('content-security-policy')],
      ['attachment; filename=report.pdf', 'application/octet-stream', "default-src 'none'; sandbox"],
    );
  });
});

describe('401 missing_view_token', () => {
  it('GET /v1/session/{session_id}/live-view/downloads/{download_id} answers 401 missing_view_token for a request without a link', async () => {
    assertError(await save(await planted({ data: Buffer.from('x') })), 401, 'missing_view_token');
  });
});

describe('403 invalid_view_token', () => {
  it('GET /v1/session/{session_id}/live-view/downloads/{download_id} answers 403 invalid_view_token for a link without control, of another session, and of an ended one', async () => {
    const id = await planted({ data: Buffer.from('x') });
    const other = (await served.create()).session_id;
    assertError(await save(id, await cookieFor('view')), 403, 'invalid_view_token');
    const cookie = await cookieFor('control', other);
    assertError(await save(id, cookie), 403, 'invalid_view_token');
    await served.call(endSession, { params: { session_id: other } });
    assertError(await save(id, cookie, other), 403, 'invalid_view_token');
  });
});

describe('404 download_not_found', () => {
  it('GET /v1/session/{session_id}/live-view/downloads/{download_id} answers 404 download_not_found for an unknown download', async () => {
    assertError(await save('none', await cookieFor('control')), 404, 'download_not_found');
  });
});

describe('409 download_not_ready', () => {
  it('GET /v1/session/{session_id}/live-view/downloads/{download_id} answers 409 download_not_ready while the download runs', async () => {
    const id = await planted({ data: Buffer.from('x'), state: 'inProgress' });
    assertError(await save(id, await cookieFor('control')), 409, 'download_not_ready');
  });
});

describe('422', () => {
  it('GET /v1/session/{session_id}/live-view/downloads/{download_id} refuses two tokens with 422', async () => {
    const { status, text } = await save('none?token=a&token=b', await cookieFor('control'));
    assert.equal(status, 422);
    assert.match(text, /"type":"string_type"/);
  });
});
