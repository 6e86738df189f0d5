import assert from 'node:assert/strict';
import { it } from 'node:test';
import { FetchRequest, InspectRequest } from '@berth/contract';
import { carriesSecrets } from './secrets.ts';

const url = 'https://site.test/';

it('a fetch with credentials in headers, cookies, bodies, proxies or steps has secrets', () => {
  const external = { type: 'external', server: 'http://proxy.test:3128' };
  const carrying: Record<string, unknown>[] = [
    { headers: { Authorization: 'Bearer x' } },
    { headers: { 'X-Api-Key': 'x' } },
    { headers: { Cookie: 'sid=1' } },
    { cookies: [{ name: 'sid', value: '1' }] },
    { mode: 'http', method: 'POST', body: '{"password":"x"}' },
    { proxy: { ...external, username: 'ada', password: 'x' } },
    { proxy: { ...external, server: 'http://ada:x@proxy.test:3128' } },
    { proxy: { type: 'rotating', servers: ['http://one.test:1', 'socks5://:x@two.test:2'] } },
    { actions: [{ type: 'repeat', max: 1, steps: [{ type: 'fill', selectors: ['#password'], value: 'x' }] }] },
    { actions: [{ type: 'set_cookie', name: 'sid', value: '1' }] },
  ];
  for (const request of carrying) assert.equal(carriesSecrets(FetchRequest.parse({ url, ...request })), true, JSON.stringify(request));
  const plain: Record<string, unknown>[] = [
    {},
    { headers: { 'Accept-Language': 'de', 'user-agent': 'x' } },
    { proxy: external },
    { actions: [{ type: 'click', selectors: ['#next'] }] },
    { mode: 'http', method: 'DELETE' },
  ];
  for (const request of plain) assert.equal(carriesSecrets(FetchRequest.parse({ url, ...request })), false, JSON.stringify(request));
});

it('a fetch with the state of a browser, or for a HAR, has secrets', () => {
  const state = {
    cookies: [{ name: 'sid', value: '1', domain: 'site.test', path: '/', expires: -1, httpOnly: true, secure: false, sameSite: 'Lax' }],
  };
  assert.equal(carriesSecrets(InspectRequest.parse({ url, storage_state: state })), true);
  assert.equal(carriesSecrets(InspectRequest.parse({ har: '{"log":{"entries":[]}}' })), true);
  assert.equal(carriesSecrets(InspectRequest.parse({ url })), false);
});
