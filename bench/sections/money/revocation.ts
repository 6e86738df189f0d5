import { Berth } from '../../berth.ts';
import { Connection } from '../../peers/connection.ts';
import type { Bench } from '../../context.ts';
import { type Section, spread } from '../../figures.ts';
import { type Issuer, serveIssuer } from '../../issuer.ts';

const runsDefault = 200;
/** All refused requests come from one address, which must not be rate limited. */
const failuresMax = '100000';
const path = '/v1/usage';

interface Outcome {
  /** Time from the revocation's response to that of the next request. */
  ms: number;
  status: number;
  isWarm: boolean;
}

async function revokeOnce(berth: Berth, keys: Connection): Promise<Outcome> {
  const { key_id: keyId, key } = await keys.requestJson<{ key_id: string; key: string }>('POST', '/v1/keys', {});
  const holder = new Connection(berth.url, { authorization: `Bearer ${key}` });
  await holder.requestJson('GET', path);
  await keys.requestJson('DELETE', `/v1/keys/${keyId}`);
  const started = performance.now();
  const { status, isWarm } = await holder.send('GET', path);
  const ms = performance.now() - started;
  holder.close();
  return { ms, status, isWarm };
}

async function measure(bench: Bench, berth: Berth, issuer: Issuer): Promise<Outcome[]> {
  const keys = new Connection(berth.url, { authorization: `Bearer ${await issuer.token('bench')}` });
  const outcomes: Outcome[] = [];
  const runs = bench.runs ?? runsDefault;
  for (let run = 1; run <= runs; run += 1) {
    if (run % 50 === 1) bench.reportProgress(`key ${run} of ${runs}`);
    outcomes.push(await revokeOnce(berth, keys));
  }
  keys.close();
  return outcomes;
}

/** A key is used, revoked, and used again over the same connection. */
export async function revocation(bench: Bench): Promise<Section> {
  const name = 'money: the first request after a key was revoked, over a warm connection';
  const columns = ['p50 / p95 / p99', 'n', 'refused %', 'ms'];
  if (!bench.withBerth) return { name, columns, rows: [], checks: [], notes: ['needs the service'] };
  const issuer = await serveIssuer(bench.stage);
  const environment = { ...issuer.environment, BERTH_AUTH_FAILURES_PER_MINUTE_MAX: failuresMax };
  const berth = await Berth.start(bench.stage, { chromium: bench.chromium, poolTarget: 0, allow: bench.site.address, environment });
  const outcomes = await measure(bench, berth, issuer);
  await berth.stop();
  const letIn = outcomes.filter(({ status }) => status !== 403).length;
  const ms = outcomes.map((outcome) => outcome.ms);
  return {
    name,
    columns,
    rows: [['revoked by its owner', outcomes.length, (100 * (outcomes.length - letIn)) / outcomes.length, spread(ms)]],
    checks: [
      { what: 'requests that were not refused', measured: letIn, target: 0, rule: 'at most', unit: '' },
      {
        what: 'requests over another connection',
        measured: outcomes.filter(({ isWarm }) => !isWarm).length,
        target: 0,
        rule: 'at most',
        unit: '',
      },
    ],
    notes: [],
  };
}
