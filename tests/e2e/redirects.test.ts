import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { createSession, endSession, fetchPage, navigate, type FetchResponse } from '@berth/contract';
import type { Client } from '../harness.ts';
import { nightly } from '../nightly.ts';
import { Service } from './service.ts';

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

/** How a refresh is written is proven by the reader of refreshes as well. */
const spellings = ['/quoted', '/comma', '/bare', '/based-later', '/header-quoted', '/script-loaded'];

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
  const everywhere = (): Record<string, unknown>[] => [{ mode: 'http' }, { mode: 'auto' }, { mode: 'browser' }, { session_id }];
  const inBrowsers = (): Record<string, unknown>[] => everywhere().slice(1);
  const toHops = ({ redirects }: FetchResponse): unknown[] => redirects.map((hop) => [hop.url.slice(url.length), hop.status_code]);

  for (const [path, end, hops = [[path, 200]]] of [
    ['/upper', '/end'],
    ['/quoted', '/end'],
    ['/comma', '/end'],
    ['/bare', '/end'],
    ['/based', '/deep/end'],
    ['/based-later', '/end'],
    ['/shortest', '/end'],
    ['/header', '/end'],
    ['/header-quoted', '/end'],
    [
      '/chain',
      '/end#part',
      [
        ['/chain', 200],
        ['/chain-302', 302],
        ['/chain-header', 200],
        ['/chain-307', 307],
      ],
    ],
    ['/computes', '/end'],
    ['/cookie', '/cookie'],
  ] as const)
    it(`pages that redirect by themselves are followed from ${path} in every mode`, spellings.includes(path) ? nightly : {}, async () => {
      for (const options of everywhere()) {
        // The session keeps its cookies.
        if (path === '/cookie' && 'session_id' in options) continue;
        const reply = await get(path, options);
        const { status, status_code, final_url, warnings, text } = reply;
        assert.deepEqual([status, status_code, final_url, warnings], ['ok', 200, url + end, []], JSON.stringify([options, reply]));
        assert.match(text ?? '', /Arrived|Let in/);
        assert.deepEqual(toHops(reply), hops, JSON.stringify(options));
      }
    });

  for (const path of ['/script', '/script-loaded', '/script-late', '/script-computes', '/script-form'])
    it(
      `pages that redirect by themselves are followed from ${path} where scripts run`,
      spellings.includes(path) ? nightly : {},
      async () => {
        for (const options of inBrowsers()) {
          const reply = await get(path, options);
          assert.deepEqual(
            [reply.status, reply.final_url, reply.text?.trim(), reply.warnings],
            ['ok', `${url}/end`, 'Arrived', []],
            JSON.stringify(options),
          );
          assert.deepEqual(toHops(reply), [[path, 200]]);
        }
        const plain = await get(path, { mode: 'http' });
        const target = path === '/script-form' ? [] : [`script_redirect:${url}/end`];
        assert.deepEqual(
          [plain.final_url, plain.warnings.filter((warning) => !warning.startsWith('possible_block'))],
          [url + path, target],
        );
      },
    );

  it('pages that redirect to themselves or back are returned with a warning', async () => {
    for (const [path, end] of [
      ['/itself', '/itself'],
      ['/there', '/back'],
    ] as const)
      for (const options of everywhere()) {
        const { status, final_url, text, warnings } = await get(path, options);
        const to = path === '/itself' ? '/itself' : '/there';
        assert.deepEqual([status, final_url, text?.trim()], ['ok', url + end, 'One moment'], JSON.stringify(options));
        assert.deepEqual(warnings, [`redirect_not_followed:${url}${to}`]);
      }
  });

  it('pages that redirect without end are an error', async () => {
    for (const [path, modes] of [
      ['/round', everywhere()],
      ['/script-round', inBrowsers()],
    ] as const)
      for (const options of modes) {
        // On a busy machine twenty pages take longer than a fetch usually may.
        const { status, error, warnings } = await get(path, { timeout_ms: 120_000, ...options });
        assert.deepEqual(
          [status, error?.details?.['reason'], error?.retryable],
          ['error', 'too_many_redirects', false],
          JSON.stringify({ path, options, warnings }),
        );
      }
  });

  it('pages that redirect much later are returned with a warning that says where', async () => {
    for (const options of everywhere()) {
      const { status, final_url, warnings } = await get('/later', options);
      assert.deepEqual(
        [status, final_url, warnings],
        ['ok', `${url}/later`, [`redirect_not_followed:${url}/end`]],
        JSON.stringify(options),
      );
      assert.deepEqual((await get('/fresh', options)).warnings, [], 'a page that keeps itself fresh is complete');
    }
  });

  it('pages whose redirect no browser would follow are not followed', async () => {
    for (const path of ['/noscript', '/comment', '/code'])
      for (const options of everywhere()) {
        const { status, final_url, text, redirects } = await get(path, options);
        assert.deepEqual([status, final_url, redirects], ['ok', url + path, []], JSON.stringify(options));
        assert.match(text ?? '', /Stays/);
      }
    for (const path of ['/script-mail', '/script-none'])
      for (const options of inBrowsers()) {
        const { status, final_url, text } = await get(path, options);
        assert.deepEqual([status, final_url, text?.trim()], ['ok', url + path, 'One moment'], JSON.stringify([path, options]));
      }
  });

  it('pages that redirect to a page that fails fail with its reason', async () => {
    for (const options of everywhere()) {
      const { status, error } = await get('/nowhere', options);
      const { reason, net_error: netError } = error?.details ?? {};
      assert.deepEqual(
        [status, reason, netError, error?.retryable],
        ['error', 'dns_failed', 'net::ERR_NAME_NOT_RESOLVED', false],
        JSON.stringify(options),
      );
    }
  });

  it('pages that redirect to a page that fails late fail with its reason, too', { timeout: 180_000 }, async () => {
    // Chromium asks twice.
    for (const path of ['/dies', '/dies-by-header'])
      for (const options of [{ mode: 'browser' }, { mode: 'http' }]) {
        const { status, error } = await get(path, { ...options, timeout_ms: 60_000, retry: { max_attempts: 1 } });
        assert.deepEqual([status, error?.details?.['net_error']], ['error', 'net::ERR_EMPTY_RESPONSE'], `${path} ${options.mode}`);
      }
  });

  it('pages that redirect to a page that never comes are returned with a warning that says where', { timeout: 120_000 }, async () => {
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
