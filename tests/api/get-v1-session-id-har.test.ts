import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { getHar, navigate } from '@berth/contract';
import { startApp, type TestApp } from '../harness.ts';
import { endedSession, startingSession } from '../session-states.ts';

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

describe('404 session_not_found', () => {
  it('GET /v1/session/{session_id}/har answers 404 session_not_found for an unknown session', async () => {
    await served.refuse(getHar, 'session_not_found', { params: { session_id: 'ses_none' } });
  });
});

describe('409 session_not_ready', () => {
  it('GET /v1/session/{session_id}/har answers 409 session_not_ready and asks to retry while the session starts', async () => {
    const { sessionId: starting, release } = await startingSession(served);
    await served.refuse(getHar, 'session_not_ready', { params: { session_id: starting } });
    await release();
  });
});

describe('409 session_ended', () => {
  it('GET /v1/session/{session_id}/har answers 409 session_ended with the end reason after the session has ended', async () => {
    const { details } = await served.refuse(getHar, 'session_ended', { params: { session_id: await endedSession(served) } });
    assert.equal(details['ended_reason'], 'requested');
  });
});
