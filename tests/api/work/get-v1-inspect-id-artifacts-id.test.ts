import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import {
  getInspectArtifact,
  inspect,
  inspectArtifacts,
  inspectSections,
  type InspectArtifact,
  type InspectResponse,
} from '@berth/contract';
import { startApp, type TestApp } from '../../harness.ts';
import type { Clock } from '@berth/lib/clock.ts';

let shiftMs = 0;
const clock: Clock = { now: () => new Date(Date.now() + shiftMs), monotonicMs: () => performance.now() };
let served: TestApp;
before(async () => {
  served = await startApp({ clock });
});
after(() => served.close());

async function inspected(include: readonly string[] | undefined = inspectSections, key = served.key): Promise<InspectResponse> {
  const body = { url: 'http://site.test/', settle_ms: 0, include };
  const { body: report } = await served.call(inspect, { body, key });
  assert.equal(report.status, 'ok', JSON.stringify(report.error));
  return report;
}

const linksOf = ({ artifacts }: InspectResponse): Record<InspectArtifact, string | null> => {
  const { openapi_url, client_url, har_url, screenshot_url } = artifacts ?? assert.fail('no artifacts');
  return { 'openapi.json': openapi_url, 'client.ts': client_url, 'capture.har': har_url, 'screenshot.jpg': screenshot_url };
};

describe('200', () => {
  it('GET /v1/inspect/{job_id}/artifacts/{name} answers the owner’s key, and the links without a key, with what is in the report', async () => {
    const report = await inspected();
    const { job_id, api, har, screenshot } = report;
    const expected: Record<InspectArtifact, [type: string, bytes: Buffer]> = {
      'openapi.json': ['application/json', Buffer.from(JSON.stringify(api?.openapi))],
      'client.ts': ['text/plain; charset=utf-8', Buffer.from(api?.client ?? assert.fail('no client'))],
      'capture.har': ['application/json', Buffer.from(JSON.stringify(har))],
      'screenshot.jpg': ['image/jpeg', Buffer.from(screenshot?.data_base64 ?? assert.fail('no screenshot'), 'base64')],
    };
    for (const name of inspectArtifacts) {
      const link = linksOf(report)[name] ?? assert.fail(name);
      const own = `${served.url}/v1/inspect/${job_id}/artifacts/${name}`;
      const [type, bytes] = expected[name];
      for (const reply of [await fetch(link), await fetch(own, { headers: { authorization: `Bearer ${served.key}` } })]) {
        assert.equal(reply.status, 200);
        assert.equal(reply.headers.get('content-type'), type);
        const disposition = reply.headers.get('content-disposition') ?? '';
        assert.ok(disposition.startsWith('attachment; filename=') && disposition.includes(name), disposition);
        assert.equal(reply.headers.get('cache-control'), 'private, no-store');
        assert.deepEqual(Buffer.from(await reply.arrayBuffer()), bytes, name);
      }
    }
  });
});

describe('include', () => {
  it('GET /v1/inspect/{job_id}/artifacts/{name} with `include` returns the API section for the document or the client alone', async () => {
    for (const [section, name] of [
      ['openapi', 'openapi.json'],
      ['client', 'client.ts'],
    ] as const) {
      const report = await inspected([section]);
      assert.ok(report.api?.[section], section);
      assert.notEqual(linksOf(report)[name], null);
      assert.deepEqual([report.site, report.auth], [null, null]);
    }
  });
});

describe('403 invalid_view_token', () => {
  it('GET /v1/inspect/{job_id}/artifacts/{name} refuses the link of another report with 403 invalid_view_token', async () => {
    const [mine, other] = [await inspected(), await inspected()];
    const token = new URL(linksOf(mine)['openapi.json'] ?? '').searchParams.get('token') ?? '';
    const params = { job_id: other.job_id, name: 'openapi.json' };
    await served.refuse(getInspectArtifact, 'invalid_view_token', { params, query: { token }, key: null });
  });
});

describe('404 job_not_found', () => {
  it('GET /v1/inspect/{job_id}/artifacts/{name} answers 404 job_not_found for the report of another owner', async () => {
    const { job_id } = await inspected(undefined, await served.ownerKey('stranger'));
    await served.refuse(getInspectArtifact, 'job_not_found', { params: { job_id, name: 'openapi.json' } });
  });
});

describe('409 report_not_available', () => {
  it('GET /v1/inspect/{job_id}/artifacts/{name} answers 409 report_not_available for parts that were not included, which have no link', async () => {
    const report = await inspected(['api', 'openapi']);
    const links = linksOf(report);
    assert.deepEqual([links['client.ts'], links['capture.har'], links['screenshot.jpg']], [null, null, null]);
    const read = (name: InspectArtifact) => ({ params: { job_id: report.job_id, name } });
    await served.call(getInspectArtifact, read('openapi.json'));
    for (const name of ['client.ts', 'capture.har', 'screenshot.jpg'] as const) {
      const { reply } = await served.refuse(getInspectArtifact, 'report_not_available', read(name));
      assert.equal(reply.headers.get('x-should-retry'), 'false', name);
    }
  });
});

describe('410 job_expired', () => {
  it('GET /v1/inspect/{job_id}/artifacts/{name} answers 410 job_expired when the report has been deleted', async () => {
    const { job_id } = await inspected();
    shiftMs = 25 * 3_600_000;
    await served.refuse(getInspectArtifact, 'job_expired', { params: { job_id, name: 'openapi.json' } });
    shiftMs = 0;
  });
});

describe('422', () => {
  it('GET /v1/inspect/{job_id}/artifacts/{name} answers 422 for an unknown part with the names of all parts', async () => {
    const { job_id } = await inspected();
    const { text } = await served.call(getInspectArtifact, { params: { job_id, name: 'report.pdf' } });
    assert.match(text, /"loc":\["path","name"\].*openapi\.json.*screenshot\.jpg/s);
  });
});
