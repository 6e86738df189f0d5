/** Log lines of a call can be found by its request and by its session. */
import assert from 'node:assert/strict';
import { Writable } from 'node:stream';
import { after, before, describe, it } from 'node:test';
import { createSession, endSession, fetchPage, getSession, navigate } from '@berth/contract';
import { createLog, readableLines } from '@berth/lib/log.ts';
import { machineOf } from '../contract/session-states.ts';
import { eventually, startApp, type TestApp } from '../harness.ts';

type Line = Record<string, unknown>;

let served: TestApp;
let text = '';
let readable = '';
before(async () => {
  const terminal = await readableLines((line) => (readable += line));
  const destination = new Writable({ write: (chunk, _encoding, done) => ((text += String(chunk)), terminal.write(String(chunk), done)) });
  served = await startApp({ log: createLog('debug', { destination }) });
});
after(() => served.close());

const linesOf = (requestId: string): Line[] =>
  text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Line)
    .filter((line) => line['request_id'] === requestId);

/** The line of the finished request, which is written after its reply. */
async function finished(requestId: string): Promise<Line> {
  const find = (): Line | undefined => linesOf(requestId).find(({ msg }) => msg === 'request');
  await eventually(`a line of ${requestId}`, () => find() !== undefined);
  return find() ?? {};
}

describe('a log line', () => {
  it('a log line of a failing call has the ids of its request and its session', async () => {
    const { session_id } = await served.create({ name: 'shop' });
    machineOf(served, session_id).crash();
    const reply = await served.call(navigate, { params: { session_id: 'shop' }, body: { url: 'http://site.test/' } });
    assert.ok(reply.status >= 400, reply.text);
    const requestId = reply.headers.get('x-request-id') ?? '';
    const line = await finished(requestId);
    assert.deepEqual([line['session_id'], line['status'], line['endpoint']], [session_id, reply.status, 'navigate']);
    for (const each of linesOf(requestId)) assert.equal(each['session_id'], session_id, JSON.stringify(each));
    assert.ok(readable.includes(requestId) && readable.includes(session_id));
  });

  it('a log line of a creation has the id of the new session', async () => {
    const reply = await served.call(createSession, { body: {} });
    const line = await finished(reply.headers.get('x-request-id') ?? '');
    assert.equal(line['session_id'], reply.body.session_id);
  });

  it('a log line of a body that names a session has its id', async () => {
    const { session_id } = await served.create();
    const reply = await served.call(fetchPage, { body: { url: 'http://site.test/', session_id } });
    const line = await finished(reply.headers.get('x-request-id') ?? '');
    assert.equal(line['session_id'], session_id);
  });

  it('a log line of a session in a loop has its id, and no request', async () => {
    const { session_id } = await served.create();
    machineOf(served, session_id).crash();
    const find = (): Line | undefined =>
      text
        .split('\n')
        .filter((line) => line.includes(session_id) && line.includes('machine lost'))
        .map((line) => JSON.parse(line) as Line)[0];
    await eventually('a line about the machine', () => find() !== undefined);
    assert.equal(find()?.['session_id'], session_id);
  });

  it('a log line has no session where the name is no session of the caller', async () => {
    const reply = await served.call(getSession, { params: { session_id: 'nobody' } });
    const line = await finished(reply.headers.get('x-request-id') ?? '');
    assert.equal(line['session_id'], undefined);
    await served.call(endSession, { params: { session_id: 'nobody' } });
  });
});
