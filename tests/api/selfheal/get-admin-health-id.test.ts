import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { fetchPage, getSiteHealth, navigate } from '@berth/contract';
import { attemptOf, blockOf } from '../../../packages/server/testing/selfheal.ts';
import { startApp, type TestApp } from '../../harness.ts';

const startMs = Date.UTC(2026, 10, 21, 9, 30);
const at = (seconds: number) => ({ startedAt: new Date(startMs + seconds * 1000) });

let served: TestApp;
before(async () => {
  served = await startApp();
  const outcomes = [
    {},
    {},
    {},
    { strategy: 'wait_retry' as const },
    { outcome: 'blocked' as const, block: blockOf('captcha'), durationMs: 600 },
  ];
  for (const [n, fields] of outcomes.entries()) served.app.selfHeal.record({ attempts: [attemptOf({ ...at(n), ...fields })] });
});
after(() => served.close());

const health = async (domain: string, owner = 'anna') => (await served.call(getSiteHealth, { params: { domain }, query: { owner } })).body;

describe('200', () => {
  it('GET /admin/health/{domain} returns the site’s health for an owner', async () => {
    assert.deepEqual(await health('example.com'), {
      domain: 'example.com',
      owner: 'anna',
      state: 'degraded',
      success_rate: 0.8,
      window: { attempts: 5, ok: 4, blocked: 1, error: 0, since: '2026-11-21T09:30:00.000Z' },
      consecutive_blocks: 1,
      last_ok_at: '2026-11-21T09:30:03.100Z',
      last_block_at: '2026-11-21T09:30:04.600Z',
      last_block_type: 'captcha',
      vendor: 'cloudflare',
      best_strategy: 'direct',
      cooldown_until: null,
      avg_latency_ms: 200,
      updated_at: '2026-11-21T09:30:04.600Z',
    });
  });

  it('GET /admin/health/{domain} has no attempt that this service refused itself', async () => {
    const attemptsOf = async (domain: string): Promise<number> => (await health(domain, 'local')).window.attempts;
    const { session_id } = await served.create();
    const once = { max_attempts: 1 };
    for (const [netError, attempts] of [
      ['ERR_BLOCKED_BY_CLIENT', 0],
      ['ERR_CONNECTION_REFUSED', 2],
    ] as const) {
      const url = `http://fail-${netError}.test/`;
      await served.refuse(navigate, 'navigation_failed', { params: { session_id }, body: { url } });
      assert.equal((await served.call(fetchPage, { body: { url, retry: once } })).body.status, 'error');
      assert.equal(await attemptsOf(`fail-${netError}.test`), attempts, netError);
    }
    const plain = await served.call(fetchPage, { body: { url: 'http://127.0.0.1:9999/', mode: 'http', retry: once } });
    assert.equal(plain.body.error?.details?.['reason'], 'blocked_by_policy');
    assert.equal(await attemptsOf('127.0.0.1'), 0);
  });

  it('GET /admin/health/{domain} maps a host to its registrable domain', async () => {
    assert.deepEqual(await health('WWW.example.com'), await health('example.com'));
  });

  it('GET /admin/health/{domain} answers unknown for an unknown site or owner', async () => {
    const unknown = {
      state: 'unknown',
      success_rate: null,
      window: { attempts: 0, ok: 0, blocked: 0, error: 0, since: null },
      consecutive_blocks: 0,
      last_ok_at: null,
      last_block_at: null,
      last_block_type: null,
      vendor: null,
      best_strategy: null,
      cooldown_until: null,
      avg_latency_ms: null,
      updated_at: null,
    };
    assert.deepEqual(await health('::1'), { domain: '::1', owner: 'anna', ...unknown });
    assert.deepEqual(await health('example.com', 'ben'), { domain: 'example.com', owner: 'ben', ...unknown });
  });
});

describe('422', () => {
  it('GET /admin/health/{domain} answers 422 without an owner', async () => {
    const [issue] = await served.issues(getSiteHealth, { params: { domain: 'example.com' } });
    assert.deepEqual([issue?.loc, issue?.type], [['query', 'owner'], 'missing']);
  });

  it('GET /admin/health/{domain} refuses an invalid host with 422', async () => {
    for (const domain of ['no host', 'a/b', 'a?b', 'a\0b', 'http://example.com', 'a'.repeat(300)]) {
      const [issue] = await served.issues(getSiteHealth, { params: { domain }, query: { owner: 'anna' } });
      assert.deepEqual(issue?.loc, ['path', 'domain'], domain);
    }
  });
});
