import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { docs } from '@berth/contract';
import { startApp, type TestApp } from '../../harness.ts';

let served: TestApp;
before(async () => {
  served = await startApp();
});
after(() => served.close());

describe('200', () => {
  it('GET /docs returns an HTML page', async () => {
    const { text, headers } = await served.call(docs, { key: null });
    assert.match(headers.get('content-type') ?? '', /^text\/html/);
    assert.match(text, /<title>/);
  });

  it('GET /docs loads everything from this service', async () => {
    const { text, headers } = await served.call(docs);
    const links = [...text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, link]) => link ?? '').filter((link) => !link.startsWith('#'));
    assert.ok(links.length >= 3);
    for (const link of links) {
      assert.match(link, /^\/(?!\/)/);
      const response = await fetch(served.url + link);
      assert.equal(response.status, 200, link);
      await response.arrayBuffer();
    }
    assert.match(headers.get('content-security-policy') ?? '', /default-src 'none'/);
  });

  it('GET /docs contains no inline script', async () => {
    const { text } = await served.call(docs);
    assert.ok(!/<script(?![^>]*\bsrc=)/.test(text) && !/\son\w+=/.test(text));
  });
});
