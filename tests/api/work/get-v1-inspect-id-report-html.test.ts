import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createKey, fetchPage, getFetchJob, getInspectReport, getJob, inspect, revokeKey } from '@berth/contract';
import { comparable, jobIdOf, startApp, type TestApp } from '../../harness.ts';
import { hangingUrl } from '../../contract/session-states.ts';
import type { Clock } from '@berth/lib/clock.ts';

let shiftMs = 0;
const clock: Clock = { now: () => new Date(Date.now() + shiftMs), monotonicMs: () => performance.now() };
let served: TestApp;
before(async () => {
  served = await startApp({ clock });
});
after(() => served.close());

async function inspected(key?: string): Promise<{ job_id: string; report_url: string }> {
  const { body } = await served.call(inspect, { body: { url: 'http://site.test/', settle_ms: 0 }, ...(key ? { key } : {}) });
  assert.equal(body.status, 'ok', JSON.stringify(body.error));
  return { job_id: body.job_id, report_url: body.report_url ?? assert.fail('no link') };
}

describe('200', () => {
  it('GET /v1/inspect/{job_id}/report.html answers the owner’s key with a page that loads nothing and runs no script', async () => {
    const { job_id } = await inspected();
    const reply = await served.call(getInspectReport, { params: { job_id } });
    assert.equal(reply.headers.get('content-type'), 'text/html; charset=utf-8');
    assert.match(reply.headers.get('content-security-policy') ?? '', /default-src 'none'/);
    assert.equal(reply.headers.get('cache-control'), 'private, no-store');
    assert.match(reply.text, /^<!doctype html>[^]*http:\/\/site\.test\//i);
    assert.doesNotMatch(reply.text, /<script(?! type="application)|(src|href)="https?:/);
  });

  it('GET /v1/inspect/{job_id}/report.html opens by its link without a key, and ignores what mail programs add', async () => {
    const { report_url } = await inspected();
    for (const link of [report_url, `${report_url}&utm_source=mail`]) {
      const reply = await fetch(link, { headers: { accept: 'text/html' } });
      assert.equal(reply.status, 200);
      assert.match(await reply.text(), /<!doctype html>/i);
    }
  });
});

describe('403 invalid_view_token', () => {
  it('GET /v1/inspect/{job_id}/report.html refuses a link of another report, of a revoked key, and one that has expired with 403 invalid_view_token', async () => {
    const { body } = await served.call(createKey, { body: { owner: 'local' } });
    const [mine, other] = [await inspected(body.key ?? ''), await inspected()];
    const token = new URL(mine.report_url).searchParams.get('token') ?? '';
    await served.refuse(getInspectReport, 'invalid_view_token', { params: { job_id: other.job_id }, query: { token }, key: null });
    await served.call(getInspectReport, { params: { job_id: mine.job_id }, query: { token }, key: null });
    await served.call(revokeKey, { params: { key_id: body.key_id } });
    await served.refuse(getInspectReport, 'invalid_view_token', { params: { job_id: mine.job_id }, query: { token }, key: null });
  });
});

describe('404 job_not_found', () => {
  it('GET /v1/inspect/{job_id}/report.html answers 404 job_not_found for unknown, foreign and other jobs identically', async () => {
    const key = await served.ownerKey('stranger');
    const { job_id: foreign } = await inspected(key);
    const { body } = await served.call(fetchPage, { body: { url: 'http://site.test/', async: true } });
    const fetched = jobIdOf(body);
    await served.call(getFetchJob, { params: { job_id: fetched }, query: { wait_seconds: '25' } });
    const read = async (job_id: string): Promise<string> =>
      comparable((await served.refuse(getInspectReport, 'job_not_found', { params: { job_id } })).reply);
    const unknown = await read(`${foreign.split('.')[0]}.00000000-0000-4000-8000-000000000000`);
    for (const id of [foreign, fetched, 'nothing', '💥']) assert.equal(await read(id), unknown, id);
  });
});

describe('409 report_not_available', () => {
  it('GET /v1/inspect/{job_id}/report.html answers 409 report_not_available while the inspection runs, and when it has failed', async () => {
    const { body } = await served.call(inspect, { body: { url: hangingUrl, async: true, timeout_ms: 1000 } });
    const { job_id } = body;
    const running = await served.refuse(getInspectReport, 'report_not_available', { params: { job_id } });
    assert.equal(running.reply.headers.get('x-should-retry'), 'true');
    assert.match(running.message, /still running/);
    const { body: job } = await served.call(getJob, { params: { job_id }, query: { wait_seconds: '25' } });
    assert.equal(job.status, 'error');
    const failed = await served.refuse(getInspectReport, 'report_not_available', { params: { job_id } });
    assert.equal(failed.reply.headers.get('x-should-retry'), 'false');
    assert.match(failed.message, /without a report/);
  });
});

describe('410 job_expired', () => {
  it('GET /v1/inspect/{job_id}/report.html answers 410 job_expired when the report has been deleted', async () => {
    const { job_id } = await inspected();
    shiftMs = 25 * 3_600_000;
    await served.refuse(getInspectReport, 'job_expired', { params: { job_id } });
    shiftMs = 0;
  });
});

describe('422', () => {
  it('GET /v1/inspect/{job_id}/report.html refuses two tokens with 422', async () => {
    const { job_id } = await inspected();
    const address = `${served.url}/v1/inspect/${job_id}/report.html?token=a&token=b`;
    const reply = await fetch(address, { headers: { authorization: `Bearer ${served.key}` } });
    assert.equal(reply.status, 422);
    assert.match(await reply.text(), /"type":"string_type"/);
  });
});
