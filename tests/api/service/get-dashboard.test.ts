import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { openDashboard } from '@berth/contract';
import { startApp, type TestApp } from '../../harness.ts';

let served: TestApp;
before(async () => {
  served = await startApp();
});
after(() => served?.close());

describe('200', () => {
  it('GET /dashboard returns the page without a credential, and sets no cookie', async () => {
    const { text, headers } = await served.call(openDashboard, { key: null });
    assert.match(headers.get('content-type') ?? '', /^text\/html/);
    assert.match(text, /<title>Dashboard · Berth<\/title>/);
    assert.deepEqual(headers.getSetCookie(), []);
    assert.equal(headers.get('cache-control'), 'no-store');
  });

  it('GET /dashboard has a policy that allows nothing but the service itself, and no framing', async () => {
    const { headers } = await served.call(openDashboard, { key: null });
    const policy = headers.get('content-security-policy') ?? '';
    assert.match(policy, /^default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:;/);
    for (const rule of ["frame-ancestors 'none'", "base-uri 'none'", "form-action 'none'"]) assert.ok(policy.includes(rule), rule);
    assert.equal(headers.get('referrer-policy'), 'no-referrer');
  });

  it('GET /dashboard loads all its files from this service, and holds no inline script or style', async () => {
    const { text } = await served.call(openDashboard, { key: null });
    assert.ok(!/<script(?![^>]*\bsrc=)/.test(text) && !/<style|\sstyle=|\son\w+=/.test(text));
    const links = [...text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, link]) => link ?? '');
    assert.ok(links.length >= 3);
    for (const link of links) {
      assert.match(link, /^\/static\//);
      const response = await fetch(served.url + link);
      assert.equal(response.status, 200, link);
      await response.arrayBuffer();
    }
  });

  it('GET /dashboard is linked from the front page', async () => {
    const home = await (await fetch(served.url)).text();
    assert.match(home, /href="\/dashboard"/);
  });

  it('GET /dashboard answers 200 with parameters that other programs add to links', async () => {
    assert.equal((await served.call(openDashboard, { key: null, query: { utm_source: 'mail', q: '\0' } })).status, 200);
  });
});
