import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { endSession, navigate, openTab, streamEvents } from '@berth/contract';
import { openEvents } from '../../event-stream.ts';
import { eventually, startApp, type TestApp } from '../../harness.ts';

let served: TestApp;
before(async () => {
  served = await startApp();
});
after(() => served.close());

const open = (session_id: string, lastEventId?: number | string) =>
  openEvents(served.url, session_id, { key: served.key, ...(lastEventId === undefined ? {} : { lastEventId }) });
const listening = (session_id: string): number => served.app.sessions.live.get(session_id)?.events.listenerCount ?? 0;
const go = (session_id: string, url: string) => served.call(navigate, { params: { session_id }, body: { url } });

describe('200', () => {
  it('GET /v1/session/{session_id}/events streams new events in order', async () => {
    const { session_id } = await served.create();
    await go(session_id, 'http://before.test/');
    const stream = await open(session_id);
    assert.equal(stream.headers.get('content-type'), 'text/event-stream');
    await go(session_id, 'http://after.test/');
    const event = await stream.nextOf('navigation');
    assert.equal(event.data['url'], 'http://after.test/');
    await served.call(openTab, { params: { session_id }, body: {} });
    assert.ok((await stream.nextOf('tab.opened')).id > event.id);
    stream.close();
  });

  it('GET /v1/session/{session_id}/events resumes after Last-Event-ID', async () => {
    const { session_id } = await served.create();
    const first = await open(session_id);
    await go(session_id, 'http://one.test/');
    const seen = await first.nextOf('navigation');
    first.close();
    await eventually('it is closed', () => listening(session_id) === 0);
    await go(session_id, 'http://two.test/');
    const again = await open(session_id, seen.id);
    const next = await again.next();
    assert.equal(next?.id, seen.id + 1);
    const navigation = next?.type === 'navigation' ? next : await again.nextOf('navigation');
    assert.equal(navigation.data['url'], 'http://two.test/');
    again.close();
  });

  it('GET /v1/session/{session_id}/events starts with the oldest stored event for the id 0', async () => {
    const { session_id } = await served.create();
    const stream = await open(session_id, 0);
    assert.equal((await stream.next())?.id, 1);
    stream.close();
  });

  it('GET /v1/session/{session_id}/events ignores an invalid id', async () => {
    const { session_id } = await served.create();
    const stream = await open(session_id, 'yesterday');
    await go(session_id, 'http://now.test/');
    assert.equal((await stream.nextOf('navigation')).data['url'], 'http://now.test/');
    stream.close();
  });

  it('GET /v1/session/{session_id}/events stores the latest 500 events', async () => {
    const { session_id } = await served.create();
    const { events } = served.app.sessions.live.get(session_id) ?? assert.fail();
    for (let count = 0; count < 2000; count += 1) events.emit('navigation', { url: `http://site.test/${count}` });
    const stream = await open(session_id, 0);
    let last = (await stream.next()) ?? assert.fail();
    assert.equal(last.data['url'], 'http://site.test/1500');
    for (let count = 1501; count < 2000; count += 1) last = (await stream.next()) ?? assert.fail();
    assert.equal(last.data['url'], 'http://site.test/1999');
    stream.close();
  });

  it('GET /v1/session/{session_id}/events ends after the session_ended event', async () => {
    const { session_id } = await served.create();
    const stream = await open(session_id);
    await served.call(endSession, { params: { session_id } });
    const ended = await stream.nextOf('session.ended');
    assert.equal(ended.data['ended_reason'], 'requested');
    assert.equal(await stream.next(), undefined);
  });

  it('GET /v1/session/{session_id}/events is closed when the client disconnects', async () => {
    const { session_id } = await served.create();
    const stream = await open(session_id);
    assert.equal(listening(session_id), 1);
    stream.close();
    await eventually('there is no listener', () => listening(session_id) === 0);
  });

  it('GET /v1/session/{session_id}/events opens no stream for HEAD', async () => {
    const { session_id } = await served.create();
    const response = await fetch(`${served.url}/v1/session/${session_id}/events`, {
      method: 'HEAD',
      headers: { authorization: `Bearer ${served.key}` },
    });
    assert.equal(response.status, 200);
    await eventually('there is no listener', () => listening(session_id) === 0);
  });

  it('GET /v1/session/{session_id}/events does not count as activity', async () => {
    const { session_id } = await served.create();
    const before = served.app.sessions.live.get(session_id)?.lastActivityAt().getTime() ?? 0;
    const stream = await open(session_id);
    assert.ok(Math.abs((served.app.sessions.live.get(session_id)?.lastActivityAt().getTime() ?? 0) - before) < 20);
    assert.equal(served.app.sessions.live.get(session_id)?.driving, 0);
    stream.close();
  });
});

describe('429 too_many_streams', () => {
  it('GET /v1/session/{session_id}/events refuses the eleventh stream with 429 too_many_streams until one is closed', async () => {
    const { session_id } = await served.create();
    const streams = await Promise.all(Array.from({ length: 10 }, () => open(session_id)));
    const { reply } = await served.refuse(streamEvents, 'too_many_streams', { params: { session_id } });
    assert.ok(Number(reply.headers.get('retry-after')) >= 1);
    streams.pop()?.close();
    await eventually('one is closed', () => listening(session_id) === 9);
    streams.push(await open(session_id));
    for (const stream of streams) stream.close();
  });
});
