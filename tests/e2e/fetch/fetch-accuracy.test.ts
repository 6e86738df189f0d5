import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { after, before, describe, it } from 'node:test';
import { createKey, createSession, endSession, fetchPage, getSiteHealth, listBlocks, navigate, type FetchResponse } from '@berth/contract';
import { startCorpus, type Corpus, type CorpusPage } from '../../../bench/fetch/corpus.ts';
import { exchanges, serve, type Exchange, type Served } from '../../corpus/corpus.ts';
import type { Client } from '../../harness.ts';
import { Service, eventually } from '../service.ts';
import { page as pageOf, startSite, type Site } from '../site.ts';
import { assertPrompt } from '../../yardstick.ts';
import { nightly, sampleOf } from '../../nightly.ts';

/** Browsers and the egress refuse ports for different reasons, and neither blames the site. */
const reasons: Record<string, readonly string[]> = {
  ERR_CONNECTION_RESET: ['connection_reset'],
  ERR_CONNECTION_REFUSED: ['connection_refused'],
  ERR_UNSAFE_PORT: ['blocked_by_policy'],
};

describe('the classification of a fetched page', () => {
  let corpus: Corpus;
  let blocks: Served;
  let site: Site;
  let service: Service;
  let client: Client;
  before(async () => {
    [corpus, blocks, site] = await Promise.all([startCorpus(), serve(), startSite({ pages: oddPages })]);
    service = await Service.start({
      environment: { BERTH_EGRESS_ALLOW: [...corpus.addresses, new URL(blocks.url).host, site.host].join(',') },
    });
    client = service.client;
  });
  after(async () => {
    await service.close();
    await Promise.all([corpus.close(), blocks.close(), site.close()]);
  });

  const get = async (body: Record<string, unknown>, key?: string): Promise<FetchResponse> => {
    const reply = await client.call(fetchPage, { body, ...(key ? { key } : {}) });
    assert.equal(reply.status, 200, reply.text.slice(0, 1000));
    return reply.body;
  };
  /** Creates a new owner, so that site health is not shared between tests. */
  const ownerKey = async (owner: string): Promise<string> => (await client.call(createKey, { body: { owner } })).body.key ?? '';

  for (const mode of ['browser', 'http', 'auto'] as const)
    // In the mode auto a browser reads what needs one.
    it(
      `the classification of a fetched page is correct in the mode ${mode} for the corpus`,
      mode === 'browser' ? nightly : {},
      async () => {
        const lies: string[] = [];
        // Every page once; what the other modes have for themselves is in each status and network error, and in scripts.
        const sampled = corpus.pages.filter(({ scripted }, index) => mode === 'auto' || scripted || index % 5 === 0);
        for (const page of [...sampled, ...corpus.truthPages]) {
          // Content that a script loads later is present at network idle.
          const waits = page.scripted ? { wait_until: 'networkidle' } : {};
          const answer = await get({ url: page.url, mode, formats: ['html', 'text', 'raw'], retry: { max_attempts: 1 }, ...waits });
          const name = `${mode} ${page.name}`;
          try {
            assertTrue(answer, page, mode);
          } catch (error) {
            lies.push(`${name}: ${String(error)}`);
          }
        }
        assert.deepEqual(lies, []);
      },
    );

  describe('of blocks and look-alikes', () => {
    const chosen = [
      ...exchanges.filter(({ expected }) => expected.blocked).filter((_, n, all) => n % Math.ceil(all.length / 6) === 0),
      ...exchanges.filter(({ expected }) => !expected.blocked).filter((_, n, all) => n % Math.ceil(all.length / 6) === 0),
    ];
    let key: string;
    before(async () => {
      key = await ownerKey('corpus');
    });
    for (const exchange of chosen)
      it(`the classification of a fetched page is ${exchange.expected.blocked ? 'blocked' : 'ok'} for ${exchange.name}`, async () => {
        const url = blocks.urlOf(exchange.name);
        const answer = await get(
          { url, formats: ['html', 'text'], retry: { max_attempts: 1, ignore_cooldown: true }, timeout_ms: 20_000 },
          key,
        );
        assertClassification(answer, exchange);
      });

    it('the classification of a fetched page is recorded once per block in the operator’s list', async () => {
      const blocked = chosen.filter(({ expected }) => expected.blocked);
      const events = await eventually('the blocks are listed', async () => {
        const { body } = await client.call(listBlocks, { query: { owner: 'corpus', limit: '100' } });
        return body.length >= blocked.length && body;
      });
      assert.equal(events.length, blocked.length);
      for (const { path, status, expected } of blocked) {
        const event = events.find(({ url }) => new URL(url).pathname === path.split('?')[0]);
        assert.ok(event, path);
        const reported = {
          type: event.type,
          vendor: event.vendor,
          status: event.status_code,
          task: event.task,
          domain: event.domain,
          strategy: event.strategy,
        };
        assert.deepEqual(reported, {
          type: expected.type,
          vendor: expected.vendor,
          status,
          task: 'fetch',
          domain: '127.0.0.1',
          strategy: 'direct',
        });
        assert.equal(event.resolved, false);
      }
    });
  });

  it('the classification of a fetched page is a cooldown without a request after three blocks, until the cooldown is ignored', async () => {
    const key = await ownerKey('cooled');
    const exchange = exchanges.find(({ expected }) => expected.type === 'access_denied');
    assert.ok(exchange);
    const request = { url: blocks.urlOf(exchange.name), formats: ['html'], retry: { max_attempts: 1 } };
    for (let n = 0; n < 3; n += 1) assertClassification(await get(request, key), exchange);
    const cooled = await get(request, key);
    assert.equal(cooled.status, 'blocked');
    assert.equal(cooled.block?.type, 'cooldown');
    assert.ok((cooled.block.retry_after_seconds ?? 0) > 60 && (cooled.block.retry_after_seconds ?? 0) <= 120);
    assert.deepEqual(cooled.attempts, []);
    assert.equal(cooled.status_code, null);
    assert.equal(cooled.resolved_by, null);
    const health = await eventually('the operator sees it', async () => {
      const { body } = await client.call(getSiteHealth, { params: { domain: '127.0.0.1' }, query: { owner: 'cooled' } });
      return body.state === 'cooldown' && body;
    });
    assert.equal(health.consecutive_blocks, 3);
    assert.equal(health.last_block_type, exchange.expected.type);
    assertClassification(await get({ ...request, retry: { max_attempts: 1, ignore_cooldown: true } }, key), exchange);
    // Site health is separate for each owner.
    assert.equal((await get(request)).block?.type, exchange.expected.type);
    const lookalike = exchanges.find(({ expected, status }) => !expected.blocked && status === 200);
    assert.ok(lookalike);
    assert.equal((await get({ ...request, url: blocks.urlOf(lookalike.name), retry: { ignore_cooldown: true } }, key)).status, 'ok');
    await eventually('a success ends the cooldown', async () => (await get(request, key)).block?.type === exchange.expected.type);
  });

  it('a fetch contains no browser error page when the site did not respond', async () => {
    for (const path of ['/empty-404', '/empty-404-later', '/empty-500']) {
      const answer = await get({ url: site.url + path, formats: ['html', 'text', 'markdown'], retry: { max_attempts: 1 } });
      assert.deepEqual(
        [answer.status_code, answer.title, answer.text, answer.markdown ?? ''],
        [path === '/empty-500' ? 500 : 404, '', '', ''],
        path,
      );
      assert.ok((answer.html ?? '').length < 100, answer.html?.slice(0, 300));
    }
    const refused = await get({ url: `${site.url}/login`, formats: ['text'] });
    assert.deepEqual([refused.status_code, refused.text], [401, 'Say who you are']);
  });

  it('a fetch after a client-side redirect has what a person would see: the new page, or the one that stays when a file is saved', async () => {
    for (const [path, final] of [
      ['/on-to-data', '/data'],
      ['/on-to-file', '/on-to-file'],
    ] as const) {
      const since = performance.now();
      const answer = await get({ url: site.url + path, timeout_ms: 20_000 });
      assertPrompt(since, 15_000);
      assert.deepEqual([answer.status, answer.status_code, answer.final_url], ['ok', 200, site.url + final]);
      assert.equal((answer.raw?.bytes ?? 0) > 0, path === '/on-to-data');
    }
  });

  it('a fetch of a file includes its byte count', async () => {
    for (const mode of ['browser', 'http']) {
      const { bytes, usage, raw } = await get({ url: `${site.url}/file`, mode });
      assert.equal(raw?.bytes, 100_000);
      assert.ok(
        bytes.in >= 100_000 && bytes.in < 101_000 && usage.egress_bytes === bytes.in + bytes.out,
        JSON.stringify([mode, bytes, usage]),
      );
    }
  });

  it('a fetch includes data besides a screenshot, and the received part of an endless file', async () => {
    const { json, screenshot } = await get({ url: `${site.url}/data`, formats: ['json', 'screenshot'] });
    assert.deepEqual(json, { truth: 1 });
    assert.ok(screenshot);
    for (const mode of ['browser', 'http']) {
      const { status_code, content_type, raw, warnings } = await get({
        url: `${site.url}/radio`,
        mode,
        timeout_ms: 5000,
        retry: { max_attempts: 1 },
      });
      assert.deepEqual([status_code, content_type, raw?.truncated], [200, 'audio/mpeg', true]);
      assert.ok(warnings.includes('body_truncated'));
    }
  });

  it('the classification of a fetched page equals that of a navigation', async () => {
    const { session_id } = (await client.call(createSession, { body: {} })).body;
    for (const { url, name, networkError } of sampleOf(corpus.truthPages, 3)) {
      const visited = await client.call(navigate, { params: { session_id }, body: { url } });
      const fetched = await get({ url, retry: { max_attempts: 1 } });
      if (networkError) {
        const { details } = (visited.body as unknown as { error: { details: Record<string, unknown> } }).error;
        assert.equal(fetched.error?.details?.['reason'], details['reason'], name);
        continue;
      }
      const { status_code, final_url, title } = visited.body;
      assert.equal(fetched.status_code, status_code, name);
      if (status_code !== 204 && status_code !== 304) assert.deepEqual([fetched.final_url, fetched.title], [final_url, title], name);
    }
    await client.call(endSession, { params: { session_id } });
  });
});

const answering =
  (status: number, headers: Record<string, string>, body = '') =>
  (_: unknown, response: ServerResponse): void =>
    void response.writeHead(status, headers).end(body);
const html = { 'content-type': 'text/html; charset=utf-8' };

const oddPages = {
  '/empty-404': answering(404, html),
  '/empty-404-later': (_: unknown, response: ServerResponse): void => {
    response.writeHead(404, html).flushHeaders();
    response.end();
  },
  '/empty-500': answering(500, html),
  '/login': answering(401, { ...html, 'www-authenticate': 'Basic realm="quay"' }, pageOf('Who', '<p>Say who you are</p>')),
  '/data': answering(200, { 'content-type': 'application/json' }, '{"truth":1}'),
  '/on-to-data': pageOf('On', '<script>location.replace("/data")</script>'),
  '/on-to-file': pageOf('On', '<script>location.replace("/file")</script>'),
  '/radio': (_: unknown, response: ServerResponse): void => {
    response.writeHead(200, { 'content-type': 'audio/mpeg' });
    const timer = setInterval(() => response.write(Buffer.alloc(500)), 50);
    response.once('close', () => clearInterval(timer));
  },
};

function assertTrue(answer: FetchResponse, page: CorpusPage, mode: 'browser' | 'http' | 'auto'): void {
  if (page.networkError) {
    assert.equal(answer.status, 'error');
    assert.equal(answer.error?.code, 'navigation_failed');
    assert.ok(reasons[page.networkError]?.includes(String(answer.error.details?.['reason'])), JSON.stringify(answer.error));
    assert.deepEqual([answer.status_code, answer.html, answer.raw], [null, null, null]);
    return;
  }
  assert.equal(answer.status, page.status === 429 ? 'blocked' : 'ok', JSON.stringify(answer.error ?? answer.block));
  assert.equal(answer.status_code, page.status);
  assert.equal(new URL(answer.final_url ?? '').pathname, page.finalPath);
  assert.equal(answer.content_type?.split(';')[0] ?? null, page.contentType);
  const shown = [answer.html, answer.text, answer.json === null ? null : JSON.stringify(answer.json)].join('\n');
  const scripted = mode === 'http' && page.scripted;
  if (page.contains !== '' && !scripted) assert.ok(shown.includes(page.contains), `without “${page.contains}”: ${shown.slice(0, 300)}`);
  if (page.contains === '' && answer.text !== null) assert.equal(answer.text.trim(), '');
  const moves = page.name === 'redirects' ? [301, 302] : page.finalPath === page.path ? [] : [page.status === 200 ? Number(page.name) : 0];
  assert.deepEqual(
    answer.redirects.map(({ status_code }) => status_code),
    moves,
  );
}

function assertClassification(answer: FetchResponse, { expected, status }: Exchange): void {
  assert.equal(answer.status_code, status);
  assert.equal(answer.status, expected.blocked ? 'blocked' : 'ok', JSON.stringify([answer.block, answer.error, answer.warnings]));
  if (expected.blocked) assert.deepEqual([answer.block?.type, answer.block?.vendor], [expected.type, expected.vendor]);
  else assert.ok(answer.block === null || !answer.block.blocked);
}
