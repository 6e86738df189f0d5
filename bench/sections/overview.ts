/** The operator's overview and economics with a thousand sessions of simulated machines, over HTTP. */
import { CreateSessionRequest } from '@berth/contract';
import type { Bench } from '../context.ts';
import { type Section, summarize } from '../figures.ts';
import { buildInProcess } from '../in-process.ts';

const sessionsMax = 1000;
const atOnce = 20;
const runsDefault = 50;
/** Creating a thousand sessions on a busy host. */
const timeoutMs = 300_000;
const overviewMsMax = 50;
const paths = ['/admin/overview', '/admin/economics'];

export async function overview(bench: Bench): Promise<Section> {
  const runs = bench.runs ?? runsDefault;
  const { app } = await buildInProcess(bench.stage, { BERTH_PORT: '0', BERTH_MAX_SESSIONS: String(sessionsMax) });
  const url = await app.listen();
  await app.keys.create({ owner: 'bench', name: null, tier: undefined, expiresInDays: null, createdBy: 'bench', actor: 'operator' });
  const principal = { owner: 'bench', keyId: null, requestsPerMinute: null, scope: 'bench' };
  const signal = AbortSignal.timeout(timeoutMs);
  for (let count = 0; count < sessionsMax; count += atOnce) {
    bench.reportProgress(`${count} of ${sessionsMax} sessions`);
    const create = () => app.sessions.create(principal, CreateSessionRequest.parse({}), { wait: true, signal });
    await Promise.all(Array.from({ length: atOnce }, create));
  }
  const results = [];
  for (const path of paths) {
    const ms: number[] = [];
    for (let run = 0; run <= runs; run += 1) {
      const startMs = performance.now();
      const response = await fetch(`${url}${path}`, { headers: { 'x-admin-key': 'bench' }, signal });
      const text = await response.text();
      if (response.status !== 200) throw new Error(text);
      // The first one connects and prepares its statements.
      if (run > 0) ms.push(performance.now() - startMs);
    }
    results.push({ path, ...summarize(ms) });
  }
  return {
    name: `overview with ${app.sessions.live.size} sessions`,
    columns: ['', 'n', 'p50 ms', 'p95 ms', 'p99 ms'],
    rows: results.map(({ path, n, p50, p95, p99 }) => [path, n, p50, p95, p99]),
    checks: results.map(({ path, p95 }) => ({ what: `${path}, p95`, measured: p95, target: overviewMsMax, rule: 'at most', unit: 'ms' })),
    notes: [],
  };
}
