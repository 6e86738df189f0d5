import assert from 'node:assert/strict';
import { it } from 'node:test';
import { versionDocument } from './json-endpoints.ts';

it('the JSON endpoints name the engine with its commit, as Chromium does', () => {
  const browser = {
    product: 'Chrome/156.0.8078.79',
    protocolVersion: '1.3',
    revision: '@a21ce95c24ce3964416f09ae1862f53f319eb4d0',
    userAgent: 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Safari/537.36',
    jsVersion: '15.6.1',
  };
  const address = 'ws://127.0.0.1:8080/v1/connect';
  assert.deepEqual(versionDocument(browser, address), {
    Browser: 'Chrome/156.0.8078.79',
    'Protocol-Version': '1.3',
    'User-Agent': browser.userAgent,
    'V8-Version': '15.6.1',
    'WebKit-Version': '537.36 (@a21ce95c24ce3964416f09ae1862f53f319eb4d0)',
    webSocketDebuggerUrl: address,
  });
  assert.equal(versionDocument({ ...browser, revision: '' }, address)['WebKit-Version'], '537.36');
});
