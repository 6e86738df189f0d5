import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { HttpError, type HttpClient, type HttpResult } from '@berth/egress';
import { ManualClock } from '@berth/lib/clock.ts';
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
  it('robots.txt allows what it does not forbid', async () => {
    const site = siteOf(rules('User-agent: *', 'Disallow: /private'));
    const robots = new Robots(new ManualClock());
    assert.equal(await ask(site, 'http://site.test/public', robots), null);
    assert.equal(await ask(site, 'http://site.test/private/page', robots), 'robots.txt disallows it');
    assert.deepEqual(site.requests, ['http://site.test/robots.txt'], 'requested once');
  });

  it('robots.txt rules that name this service count before those for all', async () => {
    const site = siteOf(rules('User-agent: *', 'Disallow: /', '', 'User-agent: Berth', 'Disallow: /admin'));
    const robots = new Robots(new ManualClock());
    assert.equal(await ask(site, 'http://site.test/page', robots), null);
    assert.notEqual(await ask(site, 'http://site.test/admin', robots), null);
  });

  it('robots.txt rules that name another agent are ignored', async () => {
    assert.equal(await ask(siteOf(rules('User-agent: Googlebot', 'Disallow: /')), 'http://site.test/page'), null);
  });

  it('robots.txt rules prefer the longer match', async () => {
    const site = siteOf(rules('User-agent: *', 'Disallow: /shop', 'Allow: /shop/open'));
    const robots = new Robots(new ManualClock());
    assert.notEqual(await ask(site, 'http://site.test/shop/closed', robots), null);
    assert.equal(await ask(site, 'http://site.test/shop/open/today', robots), null);
  });

  it('everything is allowed where there is no robots.txt', async () => {
    for (const status of [404, 403, 401])
      assert.equal(await ask(siteOf({ status, text: '<h1>User-agent: *\nDisallow: /</h1>' }), 'http://site.test/'), null);
  });

  it('nothing is allowed while the site answers 429 or 5xx for its robots.txt', async () => {
    for (const status of [500, 503, 429])
      assert.equal(await ask(siteOf({ status, text: '' }), 'http://site.test/'), `robots.txt answers ${status}`);
  });

  it('robots.txt is skipped when the site cannot be reached: the page reports the better error', async () => {
    assert.equal(await ask(siteOf(new HttpError('dns_failed', 'net::ERR_NAME_NOT_RESOLVED')), 'http://site.test/'), null);
  });

  it('robots.txt is requested for each origin', async () => {
    const site = siteOf(rules(''));
    const robots = new Robots(new ManualClock());
    for (const url of ['http://site.test/a', 'https://site.test/a', 'http://site.test:8080/a', 'http://other.test/a'])
      await ask(site, url, robots);
    assert.deepEqual(
      site.requests,
      ['http://site.test', 'https://site.test', 'http://site.test:8080', 'http://other.test'].map((origin) => `${origin}/robots.txt`),
    );
  });

  it('robots.txt is remembered for an hour and no longer', async () => {
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

  it('a robots.txt that could not be read is requested again soon', async () => {
    const clock = new ManualClock();
    const robots = new Robots(clock);
    const site = siteOf({ status: 503, text: '' });
    assert.notEqual(await ask(site, 'http://site.test/', robots), null);
    site.answer = rules('');
    clock.advance(10 * 60_000);
    assert.equal(await ask(site, 'http://site.test/', robots), null);
  });

  it('robots.txt of a site that was not reached is requested at the next fetch', async () => {
    const robots = new Robots(new ManualClock());
    const site = siteOf(new HttpError('timeout', 'net::ERR_TIMED_OUT'));
    assert.equal(await ask(site, 'http://site.test/', robots), null);
    site.answer = rules('User-agent: *', 'Disallow: /');
    assert.notEqual(await ask(site, 'http://site.test/', robots), null);
  });

  it('requesting robots.txt aborts with the caller’s signal', async () => {
    const leaving = new AbortController();
    const reason = new Error('caller left');
    leaving.abort(reason);
    const site = siteOf(rules(''));
    site.client.request = (_, { signal }) => Promise.reject(signal.reason as Error);
    await assert.rejects(new Robots(new ManualClock()).refusal(site.client, 'key', 'http://site.test/', leaving.signal), reason);
  });
});
