import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createSession, endSession, errors, getSession, grantCredits, metrics, navigate, type ErrorCode } from '@berth/contract';
import { readMetrics } from '../../../packages/server/testing/ops.ts';
import { adminKey, eventually, startApp, type TestApp } from '../../harness.ts';

const token = 'metrics-token-0123456789abcdef0123456789';
const bearer = (text: string): Record<string, string> => ({ authorization: `Bearer ${text}` });

const scrape = (served: TestApp, headers: Record<string, string>): Promise<Response> => fetch(served.url + metrics.path, { headers });

/** The value of a series; 0 when it does not exist yet. */
async function valueOf(served: TestApp, headers: Record<string, string>, series: string): Promise<number> {
  const parsed = readMetrics(await (await scrape(served, headers)).text());
  for (const { samples } of parsed.values()) if (samples.has(series)) return samples.get(series) ?? 0;
  return 0;
}

let served: TestApp;
/** A service with a metrics token configured. */
let guarded: TestApp;
before(async () => {
  served = await startApp();
  guarded = await startApp({ environment: { BERTH_METRICS_TOKEN: token, BERTH_CREDITS_ENFORCED: 'true' } });
});
after(async () => {
  await served.close();
  await guarded.close();
});

async function assertRefused(served: TestApp, headers: Record<string, string>, code: ErrorCode): Promise<void> {
  const response = await scrape(served, headers);
  const body = (await response.json()) as { code: string };
  assert.deepEqual([response.status, body.code], [errors[code].status, code], JSON.stringify(headers));
  assert.equal(response.headers.has('www-authenticate'), response.status === 401);
}

describe('200', () => {
  it('GET /metrics returns Prometheus text with the admin key when no token is configured', async () => {
    const response = await scrape(served, { 'x-admin-key': adminKey });
    assert.equal(response.status, 200);
    assert.equal(response.headers.get('content-type'), 'text/plain; version=0.0.4; charset=utf-8');
    const parsed = readMetrics(await response.text());
    for (const name of [
      'berth_build_info',
      'berth_region_registry_info',
      'berth_sessions',
      'berth_loop_turns_total',
      'process_resident_memory_bytes',
      'nodejs_eventloop_lag_p99_seconds',
    ])
      assert.ok(parsed.has(name), name);
    // A service without a metrics token requires the admin key.
    await assertRefused(served, {}, 'missing_admin_key');
    await assertRefused(served, bearer(token), 'missing_admin_key');
    await assertRefused(served, { 'x-admin-key': 'wrong' }, 'invalid_admin_key');
  });

  it('GET /metrics never decreases its traffic counters', async () => {
    const counters = async (): Promise<Map<string, number>> => {
      const parsed = readMetrics(await (await scrape(served, { 'x-admin-key': adminKey })).text());
      return new Map([...parsed.values()].filter(({ type }) => type === 'counter').flatMap(({ samples }) => [...samples]));
    };
    let before = await counters();
    for (let n = 0; n < 3; n += 1) {
      const { session_id } = await served.create();
      await served.call(endSession, { params: { session_id } });
      const now = await counters();
      for (const [series, value] of before) assert.ok((now.get(series) ?? -1) >= value, `${series}: ${now.get(series)} after ${value}`);
      before = now;
    }
  });

  it('GET /metrics counts calls by result without owner names', async () => {
    const value = (series: string): Promise<number> => valueOf(guarded, bearer(token), series);
    const broke = await guarded.ownerKey('broke-owner');
    await guarded.refuse(createSession, 'insufficient_credits', { key: broke, body: {} });
    const granted = await guarded.call(grantCredits, { body: { owner: 'paying-owner', amount: 100 } });
    assert.equal(granted.status, 200);
    const key = await guarded.ownerKey('paying-owner');
    const { session_id } = await guarded.create({ name: 'named-session', metadata: { secret: 'metadata-value' } }, { key });
    await guarded.call(navigate, { key, params: { session_id }, body: { url: 'http://site.test/some-path' } });
    await guarded.refuse(getSession, 'invalid_api_key', { key: 'brt_live_wrong', params: { session_id } });
    assert.equal(await value('berth_sessions{status="ready"}'), 1);
    assert.equal(await value('berth_pool_machines{kind="headless",state="assigned"}'), 1);
    await guarded.call(endSession, { key, params: { session_id } });
    // A response is counted after it was sent, which may be after the caller received it.
    await eventually(
      'the last call is counted',
      async () => (await value('berth_http_requests_total{endpoint="endSession",status="204"}')) === 1,
    );
    for (const [series, expected] of Object.entries({
      'berth_credits_total{axis="action"}': 0.01,
      'berth_credits_total{axis="session"}': 1,
      berth_credits_granted_total: 100,
      'berth_usage_total{axis="actions"}': 1,
      'berth_usage_total{axis="sessions"}': 1,
      'berth_denials_total{reason="insufficient_credits"}': 1,
      'berth_denials_total{reason="invalid_api_key"}': 1,
      'berth_denials_total{reason="no_capacity"}': 0,
      'berth_http_requests_total{endpoint="createSession",status="201"}': 1,
      'berth_http_requests_total{endpoint="createSession",status="402"}': 1,
      'berth_http_requests_total{endpoint="navigate",status="200"}': 1,
      'berth_http_request_duration_seconds_count{endpoint="navigate"}': 1,
      'berth_sessions_ended_total{reason="requested"}': 1,
      'berth_loop_failures{loop="metering"}': 0,
      berth_ledger_wrong_wallets: 0,
    }))
      assert.equal(await value(series), expected, series);
    const text = await (await scrape(guarded, bearer(token))).text();
    const names = [
      token,
      adminKey,
      guarded.key,
      key,
      broke,
      session_id,
      'paying-owner',
      'broke-owner',
      'named-session',
      'metadata',
      'site.test',
      'some-path',
    ];
    for (const name of names) assert.ok(!text.includes(name), `it contains ${name}`);
    assert.doesNotMatch(text, /\b(ses|key|vm|wrk|req)_[0-9a-z]{20}/);
  });
});

describe('401 missing_metrics_token', () => {
  it('GET /metrics answers 401 missing_metrics_token for a request without the token, also with the admin key', async () => {
    for (const headers of [{}, { 'x-admin-key': adminKey }, { authorization: 'Basic eDp5' }, bearer('')])
      await assertRefused(guarded, headers, 'missing_metrics_token');
  });
});

describe('403 invalid_metrics_token', () => {
  it('GET /metrics answers 403 invalid_metrics_token for any other token, including the admin key and API keys', async () => {
    assert.equal((await scrape(guarded, bearer(token))).status, 200);
    for (const wrong of [adminKey, guarded.key, `${token}x`, token.slice(1)])
      await assertRefused(guarded, bearer(wrong), 'invalid_metrics_token');
  });
});
