import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createConnectToken, discoverVersion, listSessions } from '@berth/contract';
import { startApp, type TestApp } from '../../harness.ts';

let served: TestApp;
let token = '';
before(async () => {
  served = await startApp();
  token = (await served.call(createConnectToken)).body.token ?? assert.fail();
});
after(() => served.close());

const socketUrl = () => `${served.url.replace('http', 'ws')}/v1/connect`;

describe('200', () => {
  it('GET /json/version returns the address that creates a session, and creates none', async () => {
    const { body } = await served.call(discoverVersion);
    assert.deepEqual([body['Protocol-Version'], body.webSocketDebuggerUrl], ['1.3', socketUrl()]);
    assert.match(body.Browser, /^Chrome/);
    assert.deepEqual((await served.call(listSessions)).body, []);
  });

  it('GET /json/version leaves the connect token and the options in the address', async () => {
    const query = { token, keep_alive: 'true', 'metadata.job': 'a&b', start_url: 'http://site.test/?token=x' };
    const { body } = await served.call(discoverVersion, { key: null, query });
    const url = new URL(body.webSocketDebuggerUrl);
    assert.equal(url.href.split('?')[0], socketUrl());
    assert.deepEqual(Object.fromEntries(url.searchParams), query);
  });

  it('GET /json/version never puts an API key into the address, nor what came beside it', async () => {
    const { body } = await served.call(discoverVersion, { query: { token: 'junk' } });
    assert.equal(body.webSocketDebuggerUrl, socketUrl());
  });

  it('GET /json/version names the version of the worker’s browsers once one has started', async () => {
    await served.create();
    assert.match((await served.call(discoverVersion)).body.Browser, /Chrome\/\d+/);
  });

  it('GET /json/version accepts a trailing slash, as Playwright sends it', async () => {
    const response = await fetch(`${served.url}/json/version/?token=${token}`);
    assert.equal(response.status, 200);
    await response.body?.cancel();
  });
});

describe('422', () => {
  it('GET /json/version refuses options that no session has with 422, before the client connects', async () => {
    const [issue] = await served.issues(discoverVersion, { query: { kind: 'tablet' } });
    assert.deepEqual([issue?.loc, issue?.type], [['query', 'kind'], 'literal_error']);
  });
});
