/**
 * The hostile corpus through the service: sites send it to fetches, callers send
 * it in requests. The event loop that all share, here also the site's and the
 * caller's, keeps running.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it, type TestContext } from 'node:test';
import { bytes, html, startSite, type Site } from '../fetch-site.ts';
import { startApp, type TestApp } from '../harness.ts';
import { sampleOf } from '../nightly.ts';
import { hostileBodies, hostileTypes } from './bodies.ts';
import { delayBounds, describeDelay, measureLeastDelay, p999Of } from './delay.ts';
import { megabytes } from './fill.ts';
import { hostilePages } from './pages.ts';
import { hostileRobots } from './robots.ts';
import { hostileHeaders, hostileJson, hostilePatterns, hostileSelectors, hostileUrls } from './words.ts';

let served: TestApp;
let site: Site;
const samples: number[] = [];

before(async () => {
  site = await startSite();
  served = await startApp({ environment: { BERTH_EGRESS_ALLOW: '127.0.0.1' } });
});
after(async () => {
  await served.close();
  await site.close();
});

/** Sends a request and discards the reply unread, which is large. Returns the status. */
async function send(path: string, body: string, headers: Record<string, string> = {}): Promise<number> {
  const response = await fetch(served.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${served.key}`, 'content-type': 'application/json', ...headers },
    body,
  });
  await response.body?.cancel();
  return response.status;
}
const post = (path: string, body: unknown): Promise<number> => send(path, JSON.stringify(body));

async function assertLoopRuns(t: TestContext, work: () => Promise<unknown>): Promise<void> {
  const delay = await measureLeastDelay(work);
  samples.push(...delay.samples);
  t.diagnostic(describeDelay(delay));
  assert.ok(delay.max <= delayBounds.max, describeDelay(delay));
}

describe('the event loop runs while a site sends', () => {
  const fetchPlain = (path: string, options: object = {}): Promise<number> =>
    post('/v1/fetch', { url: site.url + path, mode: 'http', formats: ['metadata'], timeout_ms: 20_000, ...options });

  it('the event loop runs while a site sends a hostile robots.txt', (t) =>
    assertLoopRuns(t, async () => {
      // An address of its own for each file: the rules of an origin are cached.
      for (const [i, text] of Object.values(hostileRobots.texts).entries()) {
        site.on('/robots.txt', bytes(text, 'text/plain'));
        const url = `${site.url.replace('127.0.0.1', `robots-${i}.localhost`)}${hostileRobots.paths[0]}`;
        assert.equal(await post('/v1/fetch', { url, mode: 'http', formats: ['raw'], respect_robots: true, timeout_ms: 20_000 }), 200);
        assert.ok(site.count('/robots.txt') > i);
      }
    }));

  it('the event loop runs while a site sends hostile pages', (t) =>
    assertLoopRuns(t, async () => {
      for (const [i, page] of Object.values(hostilePages).entries()) {
        site.on(`/page-${i}`, html(page.slice(0, 1_000_000), { status: i % 2 === 0 ? 200 : 403 }));
        assert.equal(await fetchPlain(`/page-${i}`), 200);
      }
    }));

  it('the event loop runs while a site sends hostile files, headers and cookies', (t) =>
    assertLoopRuns(t, async () => {
      for (const [i, { body, contentType }] of sampleOf(Object.values(hostileBodies), 3).entries()) {
        site.on(`/file-${i}`, bytes(body.subarray(0, 4_000_000), contentType));
        assert.equal(await fetchPlain(`/file-${i}`), 200);
      }
      for (const [i, type] of sampleOf(hostileTypes, 3).entries()) {
        const cookies = hostileHeaders[i % hostileHeaders.length] ?? '';
        site.on(`/type-${i}`, bytes('a', type, { 'content-disposition': type, 'set-cookie': cookies, 'retry-after': cookies }));
        assert.equal(await fetchPlain(`/type-${i}`), 200);
      }
    }));
});

describe('the event loop runs while a caller sends', () => {
  it('the event loop runs while a caller sends hostile JSON', (t) =>
    assertLoopRuns(t, async () => {
      for (const text of hostileJson(megabytes)) assert.ok([413, 422].includes(await send('/v1/session', text.slice(0, 1_048_576))));
    }));

  it('the event loop runs while a caller sends hostile addresses, selectors and patterns', (t) =>
    assertLoopRuns(t, async () => {
      for (const url of hostileUrls) assert.equal(await post('/v1/fetch', { url: url.slice(0, 500_000) }), 422);
      const steps = [
        ...hostilePatterns.flatMap((text) => Array.from({ length: 10 }, () => ({ type: 'wait', text }))),
        ...hostileSelectors.map((selector) => ({ type: 'click', selectors: [selector] })),
      ];
      assert.equal(await post('/v1/fetch', { url: site.url, actions: steps }), 422);
      for (const selector of hostileSelectors)
        assert.ok([200, 422].includes(await post('/v1/fetch', { url: site.url, mode: 'http', include_selectors: [selector] })));
    }));

  it('the event loop runs while a caller sends hostile headers', (t) =>
    assertLoopRuns(t, async () => {
      for (const value of hostileHeaders) {
        const short = value.slice(0, 8000);
        const headers = { cookie: short, accept: short, range: short, 'idempotency-key': short, 'x-forwarded-for': short };
        assert.ok((await send('/v1/session', '[]', headers)) >= 400);
        assert.equal(await send('/v1/session', '{}', { 'content-type': short }), 415);
      }
    }));
});

describe('all of it', () => {
  it('all hostile texts together hardly hold up the event loop', (t) => {
    const p999 = p999Of(samples);
    t.diagnostic(`${p999.toFixed(1)} yardsticks at the 99.9th percentile of ${samples.length} samples`);
    assert.ok(p999 <= delayBounds.p999, `${p999} yardsticks`);
  });

  it('all hostile texts together leave the worker healthy', async () => {
    assert.equal((await fetch(`${served.url}/health`)).status, 200);
  });
});
