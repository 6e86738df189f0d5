import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { netErrors } from '@berth/egress';
import { NetErrors } from './net-errors.ts';

const reasons = {
  'dead.example:80': 'dns_failed',
  'dead.example:443': 'connection_refused',
  'ads.example:8080': 'blocked_by_policy',
} as const;
const create = (): NetErrors =>
  new NetErrors((host, port) => {
    const reason = reasons[`${host}:${port}` as keyof typeof reasons];
    return reason ? { reason, rule: null, message: `${host} failed`, netError: netErrors[reason] } : null;
  });
const frame = (message: object): Buffer => Buffer.from(JSON.stringify(message));
const sent = (requestId: string, url: string): Buffer =>
  frame({ method: 'Network.requestWillBeSent', params: { requestId, loaderId: 'L', documentURL: url, request: { url, method: 'GET' } } });
const failed = (requestId: string, errorText: string): Buffer =>
  frame({
    method: 'Network.loadingFailed',
    params: { requestId, timestamp: 1, type: 'Document', errorText, canceled: false },
    sessionId: 'S',
  });
const tunnel = 'net::ERR_TUNNEL_CONNECTION_FAILED';
const plain = 'net::ERR_RESPONSE_HEADERS_MULTIPLE_LOCATION';

describe('network errors', () => {
  it('network errors are those of the site, by scheme and port', () => {
    const errors = create();
    for (const [id, url, error, expected] of [
      ['1', 'http://dead.example/a', plain, 'net::ERR_NAME_NOT_RESOLVED'],
      ['2', 'https://dead.example/', tunnel, 'net::ERR_CONNECTION_REFUSED'],
      ['3.1', 'http://ads.example:8080?x', plain, 'net::ERR_BLOCKED_BY_CLIENT'],
      ['4', 'http://alive.example/', plain, plain],
      ['5', 'http://dead.example/', 'net::ERR_ABORTED', 'net::ERR_ABORTED'],
    ] as const) {
      assert.equal(errors.apply(sent(id, url)).equals(sent(id, url)), true);
      assert.deepEqual(errors.apply(failed(id, error)).toString(), failed(id, expected).toString(), url);
    }
  });

  it('the network error of a redirected request is that of its last address', () => {
    const errors = create();
    errors.apply(sent('1', 'http://alive.example/'));
    errors.apply(sent('1', 'https://dead.example/'));
    assert.deepEqual(errors.inReply({ frameId: 'F', loaderId: '1', errorText: tunnel }), {
      frameId: 'F',
      loaderId: '1',
      errorText: 'net::ERR_CONNECTION_REFUSED',
    });
    assert.deepEqual(errors.inReply({ errorText: plain, loaderId: 'unseen' }, 'http://dead.example/'), {
      errorText: 'net::ERR_NAME_NOT_RESOLVED',
      loaderId: 'unseen',
    });
  });

  it('network errors that the gate caused carry its explanation', () => {
    const errors = create();
    errors.apply(sent('1', 'https://dead.example/'));
    assert.equal(errors.reportOf('net::ERR_CONNECTION_REFUSED', { requestId: '1' })?.message, 'dead.example failed');
    assert.equal(errors.reportOf('net::ERR_NAME_NOT_RESOLVED', { url: 'http://dead.example/' })?.reason, 'dns_failed');
    assert.equal(errors.reportOf('net::ERR_CERT_DATE_INVALID', { url: 'https://dead.example/' }), null);
    assert.equal(errors.reportOf('net::ERR_CONNECTION_REFUSED', { url: 'http://alive.example/' }), null);
    const unseen = errors.reportOf('net::ERR_NAME_NOT_RESOLVED', { url: 'http://alive.example/' });
    assert.equal(unseen?.message, 'alive.example cannot be resolved', 'the browser itself did not resolve it');
    const unsafe = errors.reportOf('net::ERR_UNSAFE_PORT', { url: 'http://alive.example:6667/' });
    assert.deepEqual([unsafe?.rule, unsafe?.message], ['port', 'alive.example:6667 is on a port that no browser opens']);
  });

  it('network errors appear in the log of a page, and in the errors of its WebSockets', () => {
    const errors = create();
    const entry = (text: string, url: string): Buffer => frame({ method: 'Log.entryAdded', params: { entry: { text, url } } });
    const log = (text: string, url: string): string =>
      (JSON.parse(errors.apply(entry(text, url)).toString()) as { params: { entry: { text: string } } }).params.entry.text;
    assert.equal(log(`Failed to load resource: ${plain}`, 'http://dead.example/x'), 'Failed to load resource: net::ERR_NAME_NOT_RESOLVED');
    assert.equal(
      log("WebSocket connection to 'wss://dead.example/x' failed: Establishing a tunnel via proxy server failed.", 'http://page.example/'),
      "WebSocket connection to 'wss://dead.example/x' failed: Error in connection establishment: net::ERR_CONNECTION_REFUSED",
    );
    errors.apply(frame({ method: 'Network.webSocketCreated', params: { requestId: '7', url: 'ws://dead.example/s' } }));
    const event = frame({
      method: 'Network.webSocketFrameError',
      params: { requestId: '7', timestamp: 1, errorMessage: 'Establishing a tunnel via proxy server failed.' },
    });
    assert.match(errors.apply(event).toString(), /Error in connection establishment: net::ERR_NAME_NOT_RESOLVED/);
  });

  it('network errors of a page with very many requests cost bounded memory', () => {
    const errors = create();
    errors.apply(sent('first', 'http://dead.example/'));
    for (let at = 0; at < 4096; at += 1) errors.apply(sent(String(at), 'http://dead.example/'));
    assert.equal(errors.textOf(plain, { requestId: 'first' }), plain);
    assert.equal(errors.textOf(plain, { requestId: '0' }), 'net::ERR_NAME_NOT_RESOLVED');
  });
});
