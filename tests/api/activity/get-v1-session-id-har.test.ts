import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { getHar, navigate } from '@berth/contract';
import { startApp, type TestApp } from '../../harness.ts';

let served: TestApp;
let sessionId = '';
before(async () => {
  served = await startApp();
  sessionId = (await served.create()).session_id;
});
after(() => served.close());

interface Log {
  version: string;
  creator: { name: string };
  pages: { id: string; title: string }[];
  entries: { pageref: string; request: { method: string; url: string }; response: { status: number } }[];
}
const harOf = async (session_id: string): Promise<Log> =>
  (await served.call(getHar, { params: { session_id } })).body.log as unknown as Log;

describe('200', () => {
  it('GET /v1/session/{session_id}/har contains all traffic of a session that was started with HAR', async () => {
    const { session_id } = await served.create({ har: true });
    await served.call(navigate, { params: { session_id }, body: { url: 'http://status-404.test/a' } });
    const { version, creator, pages, entries } = await harOf(session_id);
    assert.deepEqual([version, creator.name, pages.map(({ title }) => title)], ['1.2', 'Berth', ['http://status-404.test/a']]);
    assert.deepEqual(
      entries.map(({ pageref, request, response }) => [pageref, request.method, request.url, response.status]),
      [[pages[0]?.id, 'GET', 'http://status-404.test/a', 404]],
    );
  });

  it('GET /v1/session/{session_id}/har starts with the first call when the session was started without HAR', async () => {
    await served.call(navigate, { params: { session_id: sessionId }, body: { url: 'http://before.test/' } });
    assert.deepEqual((await harOf(sessionId)).entries, []);
    await served.call(navigate, { params: { session_id: sessionId }, body: { url: 'http://after.test/' } });
    assert.deepEqual(
      (await harOf(sessionId)).entries.map(({ request }) => request.url),
      ['http://after.test/'],
    );
  });
});
