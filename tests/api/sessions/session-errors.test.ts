/** What every endpoint of a session answers with an API key when the session is unknown, not yet ready, or over. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { endpoints, endSession, ErrorBody, errorsOf, errors, type Endpoint, type ErrorCode } from '@berth/contract';
import { newId } from '@berth/lib/ids.ts';
import { goodRequest, isOfSession, nameOf } from '../../contract/contract-table.ts';
import { Client, pathOf, startApp, type Reply, type TestApp } from '../../harness.ts';
import { refusedSocket } from '../../raw-http.ts';
import { startingSession } from '../../contract/session-states.ts';

const declaring = (code: ErrorCode): Endpoint[] =>
  endpoints.filter((endpoint) => isOfSession(endpoint) && errorsOf(endpoint).includes(code));

let served: TestApp;
before(async () => {
  served = await startApp();
});
after(() => served.close());

async function assertRefused(endpoint: Endpoint, code: ErrorCode, session_id: string): Promise<ErrorBody['error'] & { reply: Reply }> {
  const request = goodRequest(endpoint, { session_id });
  const reply =
    endpoint.replyKind === 'websocket'
      ? await refusedSocket(served.url.replace(/^http/, 'ws') + pathOf(endpoint, request), { authorization: `Bearer ${served.key}` })
      : await new Client(served.url, served.key).call(endpoint, request);
  assert.equal(reply.status, errors[code].status, reply.text);
  const { error } = ErrorBody.parse(JSON.parse(reply.text));
  assert.equal(error.code, code);
  return { ...error, reply };
}

describe('404 session_not_found', () => {
  for (const endpoint of declaring('session_not_found'))
    it(`${nameOf(endpoint)} answers 404 session_not_found for an unknown session`, async () => {
      await assertRefused(endpoint, 'session_not_found', newId('ses'));
    });
});

describe('409 session_not_ready', () => {
  let starting: Awaited<ReturnType<typeof startingSession>>;
  before(async () => {
    starting = await startingSession(served);
  });
  after(() => starting.release());

  for (const endpoint of declaring('session_not_ready'))
    it(`${nameOf(endpoint)} answers 409 session_not_ready and asks to retry while the session starts`, async () => {
      const { retryable, reply } = await assertRefused(endpoint, 'session_not_ready', starting.sessionId);
      assert.equal(retryable, true);
      assert.ok(Number(reply.headers.get('retry-after')) >= 1);
    });
});

describe('409 session_ended', () => {
  let ended = '';
  before(async () => {
    // Only a whole browser has a display.
    ended = (await served.create({ kind: 'full_browser' })).session_id;
    await served.call(endSession, { params: { session_id: ended } });
  });

  for (const endpoint of declaring('session_ended'))
    it(`${nameOf(endpoint)} answers 409 session_ended with the end reason after the session has ended`, async () => {
      const { details } = await assertRefused(endpoint, 'session_ended', ended);
      assert.equal(details['ended_reason'], 'requested');
    });
});
