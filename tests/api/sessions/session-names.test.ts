/** Names of sessions where a path or a body has an id. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import {
  createSession,
  createViewToken,
  endAnySession,
  endSession,
  fetchPage,
  getDownload,
  getSession,
  navigate,
  openLiveView,
  streamEvents,
  updateSession,
} from '@berth/contract';
import { pathOf, startApp, type TestApp } from '../../harness.ts';
import { openSocket } from '../../raw-http.ts';

let served: TestApp;
before(async () => {
  served = await startApp();
});
after(() => served.close());

const named = async (name: string): Promise<string> => (await served.create({ name })).session_id;
const at = (session_id: string) => ({ params: { session_id } });
const blank = { url: 'about:blank' };

describe('a session’s name', () => {
  it('a session’s name is usable where an id is: to read, drive, change, watch and end it', async () => {
    const name = 'price watch: 100 % / day';
    const id = await named(name);
    assert.equal((await served.call(getSession, at(name))).body.session_id, id);
    const navigated = await served.call(navigate, { ...at(name), body: { ...blank, session_id: name } });
    assert.deepEqual([navigated.status, navigated.body.session_id], [200, id]);
    assert.equal((await served.call(navigate, { ...at(id), body: { ...blank, session_id: name } })).status, 200);
    const link = (await served.call(createViewToken, at(name))).body;
    assert.equal(link.session_id, id);
    assert.equal((await served.call(openLiveView, { ...at(id), key: null, query: { token: link.token ?? '' } })).status, 200);
    const { closed } = await openSocket(`${served.url.replace('http', 'ws')}/v1/session/${encodeURIComponent(name)}/cdp`, {
      authorization: `Bearer ${served.key}`,
    });
    assert.equal((await served.call(getSession, at(name))).body.connections.cdp, 1);
    const fetched = await served.call(fetchPage, { body: { url: 'http://status-204.test/', session_id: name } });
    assert.deepEqual([fetched.body.status, fetched.body.session_id], ['ok', id]);
    const leaving = new AbortController();
    const events = await fetch(served.url + pathOf(streamEvents, at(name)), {
      headers: { authorization: `Bearer ${served.key}` },
      signal: leaving.signal,
    });
    assert.equal(events.status, 200);
    leaving.abort();
    await served.refuse(getDownload, 'download_not_found', { params: { session_id: name, download_id: 'none' } });
    assert.equal((await served.call(updateSession, { ...at(name), body: { name: 'renamed' } })).body.session_id, id);
    await served.refuse(getSession, 'session_not_found', at(name));
    assert.equal((await served.call(endSession, at('renamed'))).status, 204);
    await closed;
    assert.equal((await served.call(getSession, at(id))).body.ended_reason, 'requested');
  });

  it('a session’s name means the live session, and the last one when none is live', async () => {
    const first = await named('again');
    await served.call(endSession, at(first));
    const second = await named('again');
    assert.equal((await served.call(getSession, at('again'))).body.session_id, second);
    await served.call(endSession, at('again'));
    const { session_id, status } = (await served.call(getSession, at('again'))).body;
    assert.deepEqual([session_id, ['ending', 'ended'].includes(status)], [second, true]);
    await served.refuse(navigate, 'session_ended', { ...at('again'), body: blank });
  });

  it('a session’s name is its owner’s alone, and no operator’s', async () => {
    const key = await served.ownerKey('neighbour');
    const mine = await named('shared');
    const theirs = (await served.call(createSession, { key, body: { name: 'shared' } })).body.session_id;
    assert.equal((await served.call(getSession, at('shared'))).body.session_id, mine);
    assert.equal((await served.call(getSession, { ...at('shared'), key })).body.session_id, theirs);
    await served.refuse(getSession, 'session_not_found', { ...at('shared'), key: await served.ownerKey('stranger') });
    await served.refuse(endAnySession, 'session_not_found', at('shared'));
  });

  it('a session’s name does not hide a session whose id it is', async () => {
    const id = await named('plain');
    const other = await named(id);
    assert.equal((await served.call(getSession, at(id))).body.session_id, id);
    assert.equal((await served.call(getSession, at(other))).body.name, id);
  });

  it('a session’s name is unknown when it cannot be one', async () => {
    for (const name of ['a\0b', 'x'.repeat(65), 'ses_none', '%', '\ud800'.toWellFormed()])
      await served.refuse(getSession, 'session_not_found', at(name));
  });
});
