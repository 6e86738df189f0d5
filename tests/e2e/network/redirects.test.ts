import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { createSession, endSession, fetchPage, navigate, type FetchResponse } from '@berth/contract';
import type { Client } from '../../harness.ts';
import { inTurn, nightly } from '../../nightly.ts';
import { Service } from '../service.ts';

type Page = string | ((request: IncomingMessage, response: ServerResponse) => string | void);

const stub = '<p>One moment</p>';
const meta = (content: string, more = ''): string => `<meta http-equiv="refresh" content="${content}">${more}${stub}`;
const script = (code: string): string => `${stub}<script>${code}</script>`;
const moved =
  (status: number, location: string): Page =>
  (_, response) =>
    void response.writeHead(status, { location }).end();
const header =
  (value: string, body = stub): Page =>
  (_, response) => {
    response.setHeader('refresh', value);
    return body;
  };
/** It computes after its load, before it says what comes next: longer than a browser takes to say so. */
const computes = 'const since = performance.now(); while (performance.now() - since < 400);';
let rounds = 0;

const pages: Record<string, Page> = {
  '/end': '<title>End</title><p>Arrived</p>',
  '/deep/end': '<title>Deep</title><p>Arrived deep</p>',
  '/upper': '<HTML><HEAD><META HTTP-EQUIV=REFRESH CONTENT="0; URL=/end"></META></HEAD></HTML>',
  '/quoted': meta("1;url='/end'"),
  '/comma': meta('0,/end'),
  '/bare': meta('0 end'),
  '/based': `<base href="/deep/">${meta('0;url=end')}`,
  '/based-later': meta('0;url=end', '<base href="/deep/">'),
  '/shortest': meta('3;url=/wrong', '<meta http-equiv=refresh content="1;url=/end">'),
  '/header': header('0;url=/end'),
  '/header-quoted': header('2; URL="/end"'),
  '/chain': meta('0;url=/chain-302'),
  '/chain-302': moved(302, '/chain-header'),
  '/chain-header': header('0;url=/chain-307'),
  '/chain-307': moved(307, '/end#part'),
  '/computes': meta('0;url=/end', script(`addEventListener('pageshow', () => { ${computes} })`)),
  '/cookie': (request, response) => {
    if (/passed=yes/.test(request.headers.cookie ?? '')) return '<p>Let in</p>';
    response.setHeader('set-cookie', 'passed=yes');
    return meta('0');
  },
  '/itself': meta('0;url=/itself'),
  '/there': meta('0;url=/back'),
  '/back': meta('0;url=/there'),
  '/round': () => meta(`0;url=/round?${(rounds += 1)}`),
  '/later': meta('30;url=/end'),
  '/fresh': meta('30'),
  '/noscript': '<noscript><meta http-equiv="refresh" content="0;url=/wrong"></noscript><p>Stays</p>',
  '/comment': '<!-- <meta http-equiv="refresh" content="0;url=/wrong"> --><p>Stays</p>',
  '/code': meta('0;url=javascript:location=1', '<p>Stays</p>'),
  '/nowhere': meta('0;url=http://nowhere.invalid/'),
  '/dies': meta('0;url=/late-death'),
  '/dies-by-header': header('0;url=/late-death'),
  '/hangs': meta('0;url=/never'),
  '/late-death': (request) => void setTimeout(() => request.socket.destroy(), 6000),
  '/never': () => {},
  '/script': script('location.replace("/end")'),
  '/script-loaded': script('onload = () => { window.location.href = "/end" }'),
  '/script-late': script('setTimeout(() => { location.href = "/end" }, 700)'),
  '/script-computes': script(`addEventListener('pageshow', () => { ${computes} location.href = '/end' })`),
  '/script-form': '<form id=f method=post action="/end"></form><script>document.forms.f.submit()</script>',
  '/script-round': script('location.href = "/script-round?" + Math.random()'),
  '/script-mail': script('location.href = "mailto:harbour@example.com"'),
  '/script-none': script('location.href = "/none"'),
  '/none': (_, response) => void response.writeHead(204).end(),
};

const site = createServer((request, response) => {
  const page = pages[(request.url ?? '').replace(/[?].*/, '')];
  const html = typeof page === 'function' ? page(request, response) : (page ?? '<p>Wrong page</p>');
  if (typeof html === 'string') response.setHeader('content-type', 'text/html').end(html);
});

/** How a refresh is written is proven by `http`, which reads it by itself, and by the reader of refreshes; that browsers end rounds, by scripts. */
const nightlyInBrowsers = ['/round', '/quoted', '/comma', '/bare', '/based-later', '/header-quoted', '/script-loaded'];
/** Ways in which a browser is asked. They share the watch on navigations. */
const browserWays = ['auto', 'browser', 'session'] as const;
type Way = 'http' | (typeof browserWays)[number];
const ways: readonly Way[] = ['http', ...browserWays];

describe('pages that lead on by themselves', () => {
  let service: Service;
  let client: Client;
  let url = '';
  let session_id = '';
  before(async () => {
    await new Promise<void>((resolve) => void site.listen(0, '127.0.0.1', resolve));
    const { port } = site.address() as AddressInfo;
    url = `http://127.0.0.1:${port}`;
    service = await Service.start({ environment: { BERTH_EGRESS_ALLOW: `127.0.0.1:${port}` } });
    client = service.client;
    ({ session_id } = (await client.call(createSession, { body: {} })).body);
  });
  after(async () => {
    await client.call(endSession, { params: { session_id } });
    await service.close();
    site.closeAllConnections();
    site.close();
  });

  const get = async (path: string, options: Record<string, unknown>): Promise<FetchResponse> => {
    const body = { url: url + path, formats: ['text'], retry: { max_attempts: 1 }, ...options };
    return (await client.call(fetchPage, { body })).body;
  };
  const toHops = ({ redirects }: FetchResponse): unknown[] => redirects.map((hop) => [hop.url.slice(url.length), hop.status_code]);
  let row = 0;
  /** One test for each row and way. Browsers take turns over the rows of all tables. */
  const forRows = (
    title: (path: string) => string,
    rows: readonly string[],
    of: readonly Way[],
    test: (path: string, options: Record<string, unknown>) => Promise<void>,
  ): void => {
    for (const path of rows) {
      row += 1;
      for (const way of of) {
        const turn = nightlyInBrowsers.includes(path) ? nightly : inTurn(row, ways.indexOf(way) - 1, browserWays.length);
        it(`${title(path)}: ${way}`, way === 'http' ? {} : turn, () => test(path, way === 'session' ? { session_id } : { mode: way }));
      }
    }
  };

  const hops: Record<string, [string, number][]> = {
    '/chain': [
      ['/chain', 200],
      ['/chain-302', 302],
      ['/chain-header', 200],
      ['/chain-307', 307],
    ],
  };
  const ends: Record<string, string> = { '/based': '/deep/end', '/chain': '/end#part', '/cookie': '/cookie' };
  const follows = async (path: string, options: Record<string, unknown>): Promise<void> => {
    const reply = await get(path, options);
    const { status, status_code, final_url, warnings, text } = reply;
    assert.deepEqual([status, status_code, final_url, warnings], ['ok', 200, url + (ends[path] ?? '/end'), []], JSON.stringify(reply));
    assert.match(text ?? '', /Arrived|Let in/);
    assert.deepEqual(toHops(reply), hops[path] ?? [[path, 200]]);
  };
  const followed = (path: string): string => `pages that redirect by themselves are followed from ${path}`;
  // The session keeps its cookies.
  forRows(followed, ['/cookie'], ['http', 'auto', 'browser'], follows);
  const refreshes = ['/upper', '/based', '/header', '/chain', '/shortest', '/computes'];
  forRows(followed, [...refreshes, '/quoted', '/comma', '/bare', '/based-later', '/header-quoted'], ways, follows);

  const scripts = ['/script', '/script-late', '/script-computes', '/script-form', '/script-loaded'];
  forRows(
    (path) => `${followed(path)} where scripts run`,
    scripts,
    browserWays,
    async (path, options) => {
      const reply = await get(path, options);
      assert.deepEqual(
        [reply.status, reply.final_url, reply.text?.trim(), reply.warnings],
        ['ok', `${url}/end`, 'Arrived', []],
        JSON.stringify(reply),
      );
      assert.deepEqual(toHops(reply), [[path, 200]]);
    },
  );
  it('pages that redirect by a script are returned by http with a warning that says where', async () => {
    for (const path of scripts) {
      const { final_url, warnings } = await get(path, { mode: 'http' });
      const target = path === '/script-form' ? [] : [`script_redirect:${url}/end`];
      assert.deepEqual([final_url, warnings.filter((warning) => !warning.startsWith('possible_block'))], [url + path, target]);
    }
  });

  forRows(
    (path) => `pages that redirect to themselves or back are returned from ${path} with a warning`,
    ['/itself', '/there'],
    ways,
    async (path, options) => {
      const { status, final_url, text, warnings } = await get(path, options);
      const [end, to] = path === '/itself' ? ['/itself', '/itself'] : ['/back', '/there'];
      assert.deepEqual([status, final_url, text?.trim()], ['ok', url + end, 'One moment']);
      assert.deepEqual(warnings, [`redirect_not_followed:${url}${to}`]);
    },
  );

  const endless = (path: string): string => `pages that redirect without end are an error from ${path}`;
  const isRefused = async (path: string, options: Record<string, unknown>): Promise<void> => {
    // On a busy machine twenty pages take longer than a fetch usually may.
    const { status, error, warnings } = await get(path, { timeout_ms: 120_000, ...options });
    assert.deepEqual(
      [status, error?.details?.['reason'], error?.retryable],
      ['error', 'too_many_redirects', false],
      JSON.stringify(warnings),
    );
  };
  forRows(endless, ['/round'], ways, isRefused);
  forRows(endless, ['/script-round'], browserWays, isRefused);

  forRows(
    (path) => `pages that redirect much later are returned from ${path}, with a warning that says where if it leads on`,
    ['/later', '/fresh'],
    ways,
    async (path, options) => {
      const { status, final_url, warnings } = await get(path, options);
      const wanted = path === '/later' ? [`redirect_not_followed:${url}/end`] : [];
      assert.deepEqual([status, final_url, warnings], ['ok', url + path, wanted]);
    },
  );

  const unfollowed = (path: string): string => `pages whose redirect no browser would follow are not followed from ${path}`;
  forRows(unfollowed, ['/noscript', '/comment', '/code'], ways, async (path, options) => {
    const { status, final_url, text, redirects } = await get(path, options);
    assert.deepEqual([status, final_url, redirects], ['ok', url + path, []]);
    assert.match(text ?? '', /Stays/);
  });
  forRows(unfollowed, ['/script-mail', '/script-none'], browserWays, async (path, options) => {
    const { status, final_url, text } = await get(path, options);
    assert.deepEqual([status, final_url, text?.trim()], ['ok', url + path, 'One moment']);
  });

  forRows(
    () => 'pages that redirect to a page that fails fail with its reason',
    ['/nowhere'],
    ways,
    async (path, options) => {
      const { status, error } = await get(path, options);
      const { reason, net_error: netError } = error?.details ?? {};
      assert.deepEqual([status, reason, netError, error?.retryable], ['error', 'dns_failed', 'net::ERR_NAME_NOT_RESOLVED', false]);
    },
  );

  for (const [index, path] of ['/dies', '/dies-by-header'].entries())
    for (const [way, mode] of ['browser', 'http'].entries())
      it(
        `pages that redirect to a page that fails late fail with its reason from ${path}, too: ${mode}`,
        inTurn(index, way, 2),
        async () => {
          // Chromium asks twice.
          const { status, error } = await get(path, { mode, timeout_ms: 60_000, retry: { max_attempts: 1 } });
          assert.deepEqual([status, error?.details?.['net_error']], ['error', 'net::ERR_EMPTY_RESPONSE']);
        },
      );

  it('pages that redirect to a page that never comes are returned with a warning that says where', async () => {
    const { status, text, warnings } = await get('/hangs', { mode: 'browser', timeout_ms: 12_000, retry: { max_attempts: 1 } });
    assert.deepEqual([status, text, warnings], ['ok', 'One moment', [`redirect_not_followed:${url}/never`]]);
  });

  it('a navigation follows a page that redirects by itself at once, or says where it leads', async () => {
    const go = async (path: string): Promise<unknown[]> => {
      const { body } = await client.call(navigate, { params: { session_id }, body: { url: url + path } });
      return [body.final_url.slice(url.length), body.status_code, body.warnings];
    };
    assert.deepEqual(await go('/header'), ['/end', 200, []]);
    assert.deepEqual(await go('/script-loaded'), ['/end', 200, []]);
    assert.deepEqual(await go('/later'), ['/later', 200, [`redirect_not_followed:${url}/end`]]);
  });
});
