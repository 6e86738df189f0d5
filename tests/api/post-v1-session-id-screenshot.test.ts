import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { navigate, screenshot } from '@berth/contract';
import { startApp, type TestApp } from '../harness.ts';
import { assertError, callWhileBrowserDies, endedSession, jammedSession, muteSession, startingSession } from '../session-states.ts';

let served: TestApp;
let sessionId = '';
before(async () => {
  served = await startApp();
  sessionId = (await served.create()).session_id;
});
after(() => served.close());

const body = {};

describe('200', () => {
  it('gives the picture, its size and what kind it is', async () => {
    const { body: picture } = await served.call(screenshot, { params: { session_id: sessionId } });
    assert.deepEqual(
      [picture.content_type, picture.width, picture.height, picture.tiles, picture.warnings],
      ['image/png', 1280, 720, null, []],
    );
    assert.deepEqual([...Buffer.from(picture.data_base64 ?? '', 'base64').subarray(1, 4)], [...Buffer.from('PNG')]);
  });

  for (const format of ['jpeg', 'webp'])
    it(`may be ${format}`, async () => {
      const { body: picture } = await served.call(screenshot, {
        params: { session_id: sessionId },
        body: { format, quality: 50, full_page: true },
      });
      assert.equal(picture.content_type, `image/${format}`);
    });
});

describe('404 session_not_found', () => {
  it('is the answer where there is no session', async () => {
    await served.refuse(screenshot, 'session_not_found', { params: { session_id: 'ses_none' }, body });
  });
});

describe('404 tab_not_found', () => {
  it('is the answer for a tab that is not open', async () => {
    await served.refuse(screenshot, 'tab_not_found', { params: { session_id: sessionId }, body: { tab_id: 'ABCDEF' } });
  });
});

describe('409 session_not_ready', () => {
  it('asks for a moment while the session starts', async () => {
    const { sessionId: starting, give } = await startingSession(served);
    await served.refuse(screenshot, 'session_not_ready', { params: { session_id: starting }, body });
    await give();
  });
});

describe('409 session_ended', () => {
  it('is the answer when the session is over, with the reason', async () => {
    const { details } = await served.refuse(screenshot, 'session_ended', { params: { session_id: await endedSession(served) }, body });
    assert.equal(details['ended_reason'], 'requested');
  });
});

describe('409 session_busy', () => {
  it('is told at once to the eighteenth of those who come together', async () => {
    const { sessionId: jammed, give } = await jammedSession(served);
    await served.refuse(screenshot, 'session_busy', { params: { session_id: jammed }, body });
    await give();
  });
});

describe('422', () => {
  it('wants a locator that can be read', async () => {
    const [fault] = await served.faults(screenshot, { params: { session_id: sessionId }, body: { selector: 'nonsense/h1' } });
    assert.deepEqual([fault?.loc, fault?.type], [['body', 'selector'], 'selector']);
  });
});

describe('502 page_failed', () => {
  it('is the answer for a page that hangs, in the time that was given, and the session lives on', async () => {
    const session_id = await muteSession(served);
    const startMs = performance.now();
    const { details } = await served.refuse(screenshot, 'page_failed', { params: { session_id }, body: { timeout_ms: 1000 } });
    assert.deepEqual(details, { reason: 'timeout' });
    assert.ok(performance.now() - startMs < 3000);
    const { status } = await served.call(navigate, { params: { session_id }, body: { url: 'http://site.test/' } });
    assert.equal(status, 200);
  });

  it('is the answer where the element is not in the page', async () => {
    const { details } = await served.refuse(screenshot, 'page_failed', {
      params: { session_id: sessionId },
      body: { selector: '#nowhere', timeout_ms: 1000 },
    });
    assert.deepEqual(details, { reason: 'not_found' });
  });
});

describe('502 session_lost', () => {
  it('is told to a call whose browser dies before its turn', async () => {
    const reply = await callWhileBrowserDies(served, (session_id) => served.call(screenshot, { params: { session_id }, body }));
    assertError(reply, 502, 'session_lost');
  });
});
