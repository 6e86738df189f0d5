/** An inspection of a site with a secret at each of several hundred places, by a real browser: no output shows one. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Client as PostgresClient } from 'pg';
import { getJob, inspect, inspectSections, listAudit, metrics, overview, type InspectResponse } from '@berth/contract';
import { shownIn } from '@berth/site-report/testing/sections.ts';
import { nightly } from '../../nightly.ts';
import { Service, eventually } from '../service.ts';
import { startSecretsSite, type SecretsSite } from './secrets-site.ts';

/** The others are what no browser sends: headers that are its own, and addresses with credentials. */
const carriedMin = 300;

describe('an inspection of a site with secrets at several hundred places', () => {
  const folder = mkdtempSync(join(tmpdir(), 'berth-secrets-'));
  const dataDir = join(folder, 'data');
  let site: SecretsSite;
  let service: Service;
  let report: InspectResponse;
  let result: InspectResponse;

  before(async () => {
    mkdirSync(dataDir, { mode: 0o711 });
    site = await startSecretsSite(1);
    service = await Service.start({ dataDir, environment: { BERTH_EGRESS_ALLOW: site.host, BERTH_LOG_LEVEL: 'debug' } });
    const body = {
      url: site.url,
      include: [...inspectSections].filter((section) => section !== 'screenshot'),
      capture_bodies: 'samples',
      max_body_bytes: 1024 ** 2,
      actions: [{ type: 'wait', text: 'All sent.', timeout_ms: 60_000 }],
      timeout_ms: 120_000,
    };
    const { client } = service;
    report = (await client.call(inspect, { body })).body;
    if (nightly.skip) return;
    const submitted = await client.call(inspect, { body: { ...body, async: true } });
    const params = { job_id: submitted.body.job_id ?? '' };
    result = await eventually(
      'the job has ended',
      async () => {
        const { result: ended, status } = (await client.call(getJob, { params })).body;
        return status !== 'pending' && ((ended as InspectResponse | null) ?? undefined);
      },
      120_000,
    );
  });
  after(async () => {
    await service.close();
    await site.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const assertNone = (what: string, output: string): void => assert.deepEqual(shownIn(output, site.places), [], what);

  it('an inspection of a site with secrets at several hundred places reads at least three hundred of them', () => {
    assert.equal(report.status, 'ok', JSON.stringify([report.error, report.warnings]));
    const carried = site.carried();
    assert.ok(carried.length >= carriedMin, `${carried.length} of ${site.places.length}`);
    assert.ok(JSON.stringify(report.har).length > 200_000);
    assert.equal(report.limits.truncated, false, String(report.limits.reason));
  });

  it('an inspection of a site with secrets shows none in the report, its page and its files', async () => {
    const { har, api, ...rest } = report;
    const { openapi, client, ...endpoints } = api ?? assert.fail('no api');
    for (const [name, part] of Object.entries({ har, openapi, client, endpoints, ...rest })) assertNone(name, JSON.stringify(part) ?? '');
    for (const url of [report.report_url, ...Object.values(report.artifacts ?? {})]) {
      if (typeof url !== 'string') continue;
      const reply = await fetch(url);
      assert.equal(reply.status, 200);
      assertNone(url, await reply.text());
    }
  });

  // Its report is made as that of the other call.
  it('an inspection of a site with secrets shows none in the result of its job', nightly, () => {
    assert.equal(result.status, 'ok');
    assertNone('result', JSON.stringify(result));
  });

  it('an inspection of a site with secrets leaves none in the log, the metrics, the audit log and the overview', async () => {
    assertNone('log', service.errors + service.output);
    for (const endpoint of [metrics, listAudit, overview]) assertNone(endpoint.id, (await service.client.call(endpoint)).text);
  });

  it('an inspection of a site with secrets leaves none in the database and in the files of the data directory', async () => {
    assertNone('rows', await rowsOf(dataDir));
    assert.equal(await service.stop(), 0);
    const files = filesOf(dataDir).filter((path) => !path.endsWith('/reserve'));
    assert.ok(files.some((path) => path.includes('pg_wal')));
    const any = new RegExp(site.places.map(({ value }) => value.replaceAll(/\W/g, '\\$&')).join('|'));
    for (const path of files) {
      const bytes = readFileSync(path);
      // Each of hundreds by itself takes five times as long in a database of a hundred megabytes.
      if (!any.test(bytes.toString('latin1'))) continue;
      const shown = site.places.filter(({ value }) => bytes.includes(value));
      assert.deepEqual(
        shown.map(({ label }) => label),
        [],
        path,
      );
    }
  });
});

/** All rows of all tables as text. */
async function rowsOf(dataDir: string): Promise<string> {
  const [, , , , host = ''] = readFileSync(join(dataDir, 'postgres/cluster/postmaster.pid'), 'utf8').split('\n');
  const client = new PostgresClient({ host, user: 'berth', database: 'postgres' });
  await client.connect();
  try {
    const { rows: tables } = await client.query<{ name: string }>(
      `select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname not in ('pg_catalog', 'information_schema')`,
    );
    const texts = [];
    for (const { name } of tables)
      texts.push(...(await client.query<{ row: string }>(`select t::text as row from ${name} t`)).rows.map(({ row }) => row));
    assert.ok(texts.length > 20, 'there are rows');
    return texts.join('\n');
  } finally {
    await client.end();
  }
}

const filesOf = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true }).flatMap((entry) =>
    entry.isFile() ? [join(entry.parentPath, entry.name)] : [],
  );
