import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { HttpFailure, type HttpClient, type HttpResult } from '../egress/egress.ts';
import { ManualClock } from '../lib/clock.ts';
import { Robots } from './robots.ts';

const never = new AbortController().signal;

interface Site {
  client: HttpClient;
  requests: string[];
  answer: { status: number; text: string } | Error;
}

/** A client for a site that gives one answer to every request. */
function siteOf(answer: Site['answer']): Site {
  const site: Site = {
    requests: [],
    answer,
    client: {
      request: ({ url }) => {
        site.requests.push(url);
        if (site.answer instanceof Error) return Promise.reject(site.answer);
        const { status, text } = site.answer;
        const body = Buffer.from(text);
        const reply = {
          statusText: '',
          headers: {},
          setCookieNames: [],
          url,
          redirects: [],
          truncated: false,
          unreadable: null,
          bytesIn: 0,
          bytesOut: 0,
          ttfbMs: 0,
          warnings: [],
        };
        return Promise.resolve({ ...reply, status, body, contentType: 'text/plain' } satisfies HttpResult);
      },
      close: () => undefined,
    },
  };
  return site;
}

const rules = (...lines: string[]) => ({ status: 200, text: lines.join('\n') });
const ask = ({ client }: Site, url: string, robots = new Robots(new ManualClock())) => robots.refusal(client, 'key', url, never);

describe('the rules of a site', () => {
  it('allow what they do not forbid', async () => {
    const site = siteOf(rules('User-agent: *', 'Disallow: /private'));
    const robots = new Robots(new ManualClock());
    assert.equal(await ask(site, 'http://site.test/public', robots), null);
    assert.equal(await ask(site, 'http://site.test/private/page', robots), 'robots.txt disallows it');
    assert.deepEqual(site.requests, ['http://site.test/robots.txt'], 'requested once');
  });

  it('that name us count before those for all', async () => {
    const site = siteOf(rules('User-agent: *', 'Disallow: /', '', 'User-agent: Berth', 'Disallow: /admin'));
    const robots = new Robots(new ManualClock());
    assert.equal(await ask(site, 'http://site.test/page', robots), null);
    assert.notEqual(await ask(site, 'http://site.test/admin', robots), null);
  });

  it('that name another count for nothing', async () => {
    assert.equal(await ask(siteOf(rules('User-agent: Googlebot', 'Disallow: /')), 'http://site.test/page'), null);
  });

  it('prefer the longer match', async () => {
    const site = siteOf(rules('User-agent: *', 'Disallow: /shop', 'Allow: /shop/open'));
    const robots = new Robots(new ManualClock());
    assert.notEqual(await ask(site, 'http://site.test/shop/closed', robots), null);
    assert.equal(await ask(site, 'http://site.test/shop/open/today', robots), null);
  });

  it('allow everything where there are none', async () => {
    for (const status of [404, 403, 401])
      assert.equal(await ask(siteOf({ status, text: '<h1>User-agent: *\nDisallow: /</h1>' }), 'http://site.test/'), null);
  });

  it('allow nothing while the site answers 429 or 5xx', async () => {
    for (const status of [500, 503, 429])
      assert.equal(await ask(siteOf({ status, text: '' }), 'http://site.test/'), `robots.txt answers ${status}`);
  });

  it('are skipped when the site cannot be reached: the page reports the better error', async () => {
    assert.equal(await ask(siteOf(new HttpFailure('dns_failed', 'net::ERR_NAME_NOT_RESOLVED')), 'http://site.test/'), null);
  });

  it('are requested for each origin', async () => {
    const site = siteOf(rules(''));
    const robots = new Robots(new ManualClock());
    for (const url of ['http://site.test/a', 'https://site.test/a', 'http://site.test:8080/a', 'http://other.test/a'])
      await ask(site, url, robots);
    assert.deepEqual(
      site.requests,
      ['http://site.test', 'https://site.test', 'http://site.test:8080', 'http://other.test'].map((origin) => `${origin}/robots.txt`),
    );
  });

  it('are remembered for an hour and no longer', async () => {
    const clock = new ManualClock();
    const robots = new Robots(clock);
    const site = siteOf(rules('User-agent: *', 'Disallow: /'));
    for (const minutes of [0, 29, 30]) {
      clock.advance(minutes * 60_000);
      assert.notEqual(await ask(site, 'http://site.test/', robots), null);
    }
    site.answer = rules('');
    clock.advance(60_000 + 1);
    assert.equal(await ask(site, 'http://site.test/', robots), null);
    assert.equal(site.requests.length, 2);
  });

  it('that could not be read are requested again soon', async () => {
    const clock = new ManualClock();
    const robots = new Robots(clock);
    const site = siteOf({ status: 503, text: '' });
    assert.notEqual(await ask(site, 'http://site.test/', robots), null);
    site.answer = rules('');
    clock.advance(10 * 60_000);
    assert.equal(await ask(site, 'http://site.test/', robots), null);
  });

  it('of a site that was not reached are requested at the next fetch', async () => {
    const robots = new Robots(new ManualClock());
    const site = siteOf(new HttpFailure('timeout', 'net::ERR_TIMED_OUT'));
    assert.equal(await ask(site, 'http://site.test/', robots), null);
    site.answer = rules('User-agent: *', 'Disallow: /');
    assert.notEqual(await ask(site, 'http://site.test/', robots), null);
  });

  it('abort with the caller’s signal', async () => {
    const leaving = new AbortController();
    const reason = new Error('caller left');
    leaving.abort(reason);
    const site = siteOf(rules(''));
    site.client.request = (_, { signal }) => Promise.reject(signal.reason as Error);
    await assert.rejects(new Robots(new ManualClock()).refusal(site.client, 'key', 'http://site.test/', leaving.signal), reason);
  });
});
