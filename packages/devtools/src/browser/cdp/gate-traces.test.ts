import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { GateTraces } from './gate-traces.ts';

const addresses: Record<string, string> = { 'a.example:443': '93.184.216.34', 'b.example:8080': '2606:4700::1111' };
const traces = new GateTraces((host, port) => {
  const ip = addresses[`${host}:${port}`];
  return ip === undefined ? null : { ip, port };
});
const frame = (method: string, params: object): Buffer => Buffer.from(JSON.stringify({ method, params, sessionId: 'S' }));
const response = (url: string, remoteIPAddress = '127.0.0.1', remotePort = 3128, headers: object = {}): object => ({
  url,
  status: 200,
  headers,
  remoteIPAddress,
  remotePort,
  securityDetails: { subjectName: 'é "remoteIPAddress":"1.2.3.4"' },
});
const received = (of: object): Buffer => frame('Network.responseReceived', { requestId: '1', response: of });
const same = (given: Buffer): void => assert.equal(traces.apply(given), given);

describe('a response', () => {
  it('a response has the remote address of its site', () => {
    const url = 'https://a.example/x?y#z';
    assert.deepEqual(traces.apply(received(response(url))), received(response(url, '93.184.216.34', 443)));
    const other = 'http://b.example:8080/';
    assert.deepEqual(traces.apply(received(response(other))), received(response(other, '[2606:4700::1111]', 8080)));
    assert.deepEqual(traces.remoteAddress(other), { ip: '2606:4700::1111', port: 8080 });
  });

  it('a response that redirects has the remote address of its own site', () => {
    const redirected = (by: object): Buffer =>
      frame('Network.requestWillBeSent', { request: { url: 'http://c.example/' }, redirectResponse: by, type: 'Document' });
    const url = 'https://a.example/';
    assert.deepEqual(traces.apply(redirected(response(url))), redirected(response(url, '93.184.216.34', 443)));
  });

  it("a response keeps site headers that are named like the gate's fields", () => {
    const url = 'https://a.example/';
    const headers = { remoteIPAddress: 'x', remotePort: '1', note: '","remoteIPAddress":"x","remotePort":1' };
    assert.deepEqual(
      traces.apply(received(response(url, '127.0.0.1', 3128, headers))),
      received(response(url, '93.184.216.34', 443, headers)),
    );
  });

  it('a response of an unknown address, or of no site, is unchanged', () => {
    same(received(response('https://proxied.example/')));
    same(received(response('data:text/html,x')));
    same(received({ url: 'https://a.example/', status: 200, headers: {} }));
    same(frame('Network.requestWillBeSent', { request: { url: 'https://a.example/' } }));
    same(frame('Page.frameNavigated', response('https://a.example/')));
  });
});

describe('the head of a request', () => {
  const sent = (headers: object): Buffer =>
    frame('Network.requestWillBeSentExtraInfo', { requestId: '1', associatedCookies: [], headers, connectTiming: {} });

  it('the reported request headers are those that the site got', () => {
    assert.deepEqual(
      traces.apply(sent({ Host: 'a.example', 'Proxy-Connection': 'keep-alive', 'x-é': '"Proxy-Connection":' })),
      sent({ Host: 'a.example', Connection: 'keep-alive', 'x-é': '"Proxy-Connection":' }),
    );
    same(sent({ Host: 'a.example', 'x-note': '"Proxy-Connection":' }));
  });
});
