/** The lists that pages of the dashboard ask for, with 10,000 sessions, 1,000 jobs and 500 owners in the database. */
import { CreateSessionRequest } from '@berth/contract';
import { sql } from 'kysely';
import type { Bench } from '../context.ts';
import { type Section, summarize } from '../figures.ts';
import { buildInProcess } from '../in-process.ts';

const sessionCount = 10_000;
const jobCount = 1000;
const ownerCount = 500;
const runsDefault = 50;
const timeoutMs = 300_000;
/** A page has 300 ms until its first content, of which its server may take a third. */
const listMsMax = 100;

const operatorPaths = [
  '/admin/sessions?limit=50',
  '/admin/sessions?limit=50&status=ended',
  '/admin/owners?limit=50',
  '/admin/owners?limit=50&search=owner-4',
  '/admin/audit?limit=50',
  '/admin/blocks?limit=50',
  '/admin/overview',
  '/admin/economics',
];
/** The calls of the owner who has half of all sessions and all jobs. */
const customerPaths = [
  '/v1/sessions?limit=50',
  '/v1/sessions?limit=50&status=ended',
  '/v1/jobs?limit=50',
  '/v1/usage',
  '/v1/credits/ledger?limit=50',
];

export async function lists(bench: Bench): Promise<Section> {
  const runs = bench.runs ?? runsDefault;
  const { app, store } = await buildInProcess(bench.stage, { BERTH_PORT: '0' });
  const url = await app.listen();
  const signal = AbortSignal.timeout(timeoutMs);
  const { raw: key } = await app.keys.create({
    owner: 'bench',
    name: null,
    tier: undefined,
    expiresInDays: null,
    createdBy: 'bench',
    actor: 'operator',
  });
  const principal = { owner: 'bench', keyId: null, requestsPerMinute: null, scope: 'bench' };
  const { record } = await app.sessions.create(principal, CreateSessionRequest.parse({}), { wait: true, signal });
  const session_id = record.sessionId;
  const tables = store.tables<Record<string, never>>();
  const headers = { authorization: `Bearer ${key}` };
  await fetch(`${url}/v1/session/${session_id}`, { method: 'DELETE', headers, signal });
  const submitted = JSON.stringify({ url: 'http://127.0.0.1:9/', mode: 'http', async: true });
  const job = await fetch(`${url}/v1/fetch`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: submitted,
    signal,
  });
  if (!job.ok) throw new Error(await job.text());
  bench.reportProgress('filling the tables');
  await sql`INSERT INTO owners (owner_id, tier) SELECT 'owner-' || n, 'free' FROM generate_series(1, ${ownerCount}::int) n`.execute(tables);
  await sql`INSERT INTO sessions SELECT (jsonb_populate_record(s, jsonb_build_object(
      'session_id', 'ses_' || lpad(n::text, 24, '0'), 'name', NULL, 'created_at', s.created_at - n * interval '1 minute',
      'owner_id', CASE WHEN n % 2 = 0 THEN 'bench' ELSE 'owner-' || (1 + n % ${ownerCount}::int) END))).*
    FROM sessions s, generate_series(1, ${sessionCount}::int) n WHERE s.session_id = ${session_id}`.execute(tables);
  await sql`INSERT INTO jobs SELECT (jsonb_populate_record(j, jsonb_build_object(
      'job_id', 'ses_' || lpad(n::text, 24, '0') || '.job_' || n, 'created_at', j.created_at - n * interval '1 minute', 'status', 'ok'))).*
    FROM jobs j, generate_series(1, ${jobCount}::int) n`.execute(tables);
  await sql`ANALYZE`.execute(tables);
  const results = [];
  for (const path of [...operatorPaths, ...customerPaths]) {
    const ms: number[] = [];
    for (let run = 0; run <= runs; run += 1) {
      const startMs = performance.now();
      const response = await fetch(`${url}${path}`, { headers: path.startsWith('/admin') ? { 'x-admin-key': 'bench' } : headers, signal });
      const text = await response.text();
      if (response.status !== 200) throw new Error(text);
      // The first one connects and prepares its statements.
      if (run > 0) ms.push(performance.now() - startMs);
    }
    results.push({ path, ...summarize(ms) });
  }
  return {
    name: `lists with ${sessionCount} sessions, ${jobCount} jobs and ${ownerCount} owners`,
    columns: ['', 'n', 'p50 ms', 'p95 ms', 'p99 ms'],
    rows: results.map(({ path, n, p50, p95, p99 }) => [path, n, p50, p95, p99]),
    checks: results.map(({ path, p95 }) => ({ what: `${path}, p95`, measured: p95, target: listMsMax, rule: 'at most', unit: 'ms' })),
    notes: [],
  };
}
