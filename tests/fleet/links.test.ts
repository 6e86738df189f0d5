/** Links and tokens that one worker issues, at another one. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Client as Database } from 'pg';
import { createConnectToken, endSession, inspect, revokeViewTokens } from '@berth/contract';
import { startApp } from '../harness.ts';
import { cookieOf, open, tokenFor } from '../prepare/view-links.ts';
import { startFleet, type TestFleet } from './fleet.ts';

describe('links of a fleet', () => {
  let fleet: TestFleet;
  before(async () => {
    fleet = await startFleet({ workers: 2 });
  });
  after(() => fleet.close());

  it('links of a fleet open at any worker, and so do the cookies that they are exchanged for', async () => {
    const { session_id } = await fleet.worker(0).create();
    const token = await tokenFor(fleet.worker(0), session_id);
    const path = `/v1/session/${session_id}/live-view`;
    for (const [opened, next] of [
      [1, 0],
      [0, 1],
    ] as const) {
      const page = await open(`${fleet.worker(opened).url}${path}?token=${token}`);
      assert.equal(page.status, 200, page.text);
      const again = await open(`${fleet.worker(next).url}${path}`, { cookie: cookieOf(page) });
      assert.equal(again.status, 200, again.text);
    }
  });

  it('links of a fleet are revoked at all workers', async () => {
    const { session_id } = await fleet.worker(0).create();
    const path = `/v1/session/${session_id}/live-view`;
    const page = await open(`${fleet.worker(1).url}${path}?token=${await tokenFor(fleet.worker(0), session_id)}`);
    const cookie = cookieOf(page);
    await fleet.call(0, revokeViewTokens, { params: { session_id } });
    for (const { url } of fleet.workers) assert.equal((await open(url + path, { cookie })).status, 403);
    await fleet.call(0, endSession, { params: { session_id } });
  });

  it('links of a fleet open reports that another worker made', async () => {
    const { body } = await fleet.call(0, inspect, { body: { url: 'http://site.test/', settle_ms: 0 } });
    const { pathname, search } = new URL(body.report_url ?? assert.fail('no report'));
    const report = await open(`${fleet.worker(1).url}${pathname}${search}`);
    assert.equal(report.status, 200, report.text);
  });

  it('links of a fleet with a connect token lead to any worker', async () => {
    const { body } = await fleet.call(0, createConnectToken, { body: {} });
    for (const { url } of fleet.workers) assert.equal((await open(`${url}/json/version?token=${body.token}`)).status, 200);
  });
});

describe('the key that seals links', () => {
  it('the key that seals links is that of the first worker, which keeps its own', async () => {
    const first = await startFleet({ workers: 1 });
    const own = readFileSync(join(first.worker(0).dataDir, 'token-key'), 'utf8');
    await first.add();
    const { session_id } = await first.worker(0).create();
    const page = await open(
      `${first.worker(1).url}/v1/session/${session_id}/live-view?token=${await tokenFor(first.worker(0), session_id)}`,
    );
    assert.equal(page.status, 200, page.text);
    assert.equal(readFileSync(join(first.worker(0).dataDir, 'token-key'), 'utf8'), own);
    await first.close();
  });

  it('the key that seals links stays in the data directory of a single worker', async () => {
    const served = await startApp();
    assert.ok(existsSync(join(served.dataDir, 'token-key')));
    const client = new Database({ connectionString: served.databaseUrl });
    await client.connect();
    assert.deepEqual((await client.query('select name from fleet_secrets')).rows, []);
    await client.end();
    await served.close();
  });
});
