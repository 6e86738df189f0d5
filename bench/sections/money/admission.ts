import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Berth } from '../../berth.ts';
import { Connection } from '../../peers/connection.ts';
import type { Bench } from '../../context.ts';
import { type Check, type Section, spread, summarize } from '../../figures.ts';
import { type InProcess, buildInProcess } from '../../in-process.ts';
import { waitForIdleCpu } from '../../proc.ts';
import type { Stage } from '../../stage.ts';
import { tier } from './tier.ts';

const callsDefault = 400;
const warmUpCalls = 40;
const callsInBlock = 20;
const initialCredits = 1_000_000;

const tiers = { default_tier: 'postpaid', tiers: { prepaid: tier, postpaid: { ...tier, overage_allowed: true } } };

/** Two owners of one service: calls of one are charged before the response, those of the other are only metered. */
const plans = { enforced: 'prepaid', 'not enforced': 'postpaid' } as const;
type Name = keyof typeof plans;
type Ticket = Awaited<ReturnType<InProcess['app']['metering']['admit']>>;
const names = Object.keys(plans) as Name[];

interface Line {
  what: string;
  name: Name;
  ms: number[];
  once(): Promise<unknown>;
  /** Follows `once`, and is not measured. */
  after?(): Promise<unknown>;
}

function environmentOf(stage: Stage): Record<string, string> {
  const file = join(stage.folder('tiers'), 'tiers.json');
  writeFileSync(file, JSON.stringify(tiers), { mode: 0o644 });
  return { BERTH_TIERS_FILE: file, BERTH_CREDITS_ENFORCED: '1' };
}

async function httpLines(berth: Berth, name: Name): Promise<Line[]> {
  const owner = plans[name];
  const operator = new Connection(berth.url, { 'x-admin-key': berth.adminKey });
  const { key } = await operator.requestJson<{ key: string }>('POST', '/admin/keys', { owner, tier: plans[name] });
  await operator.requestJson('POST', '/v1/admin/credits', { owner, amount: initialCredits });
  operator.close();
  const caller = new Connection(berth.url, { authorization: `Bearer ${key}` });
  const { session_id: sessionId } = await caller.requestJson<{ session_id: string }>('POST', '/v1/session', {});
  const line = (what: string, path: string, body?: object): Line => ({
    what,
    name,
    ms: [],
    once: () => caller.requestJson('POST', `/v1/session/${sessionId}${path}`, body),
  });
  // Without a proxy this rotates nothing: the cheapest metered call.
  return [line('rotate-ip', '/rotate-ip'), line('navigate to about:blank', '/navigate', { url: 'about:blank' })];
}

async function inProcessLines({ app }: InProcess, name: Name): Promise<Line[]> {
  const owner = `door-${plans[name]}`;
  const { metering, credits, keys } = app;
  await keys.create({ owner, name: null, tier: plans[name], expiresInDays: null, createdBy: 'bench', actor: 'operator' });
  await credits.grant({ opId: `grant:${owner}`, owner, amount: initialCredits * 1e6, note: null, actor: 'operator' });
  const plan = { ...tier, name: plans[name], overage_allowed: plans[name] === 'postpaid' };
  const meter = metering.open({
    meterId: `ses_${owner}`,
    owner,
    tier: plan,
    egressType: 'direct',
    sample: () => ({ egressBytes: 0, browserMs: 0 }),
  });
  const admit = (): Promise<Ticket> => metering.admit(owner, { axis: 'action' });
  let ticket: Ticket | undefined;
  return [
    { what: 'admit()', name, ms: [], once: async () => (ticket = await admit()), after: async () => ticket?.drop() },
    { what: 'admit() and charge()', name, ms: [], once: async () => (await admit()).charge(meter) },
  ];
}

/** Interleaved, so that changes of the host's speed affect all alike. */
async function runInterleaved(bench: Bench, lines: readonly Line[]): Promise<void> {
  const calls = bench.runs ?? callsDefault;
  for (const { once, after } of lines) for (let n = 0; n < warmUpCalls; n += 1) await (await once(), after?.());
  for (let done = 0; done < calls; done += callsInBlock) {
    bench.reportProgress(`call ${done} of ${calls}`);
    await waitForIdleCpu(1000);
    for (const line of lines) {
      for (let n = 0; n < Math.min(callsInBlock, calls - done); n += 1) {
        const started = performance.now();
        await line.once();
        line.ms.push(performance.now() - started);
        await line.after?.();
      }
    }
  }
}

async function measureHttp(bench: Bench, environment: Record<string, string>): Promise<Line[]> {
  const berth = await Berth.start(bench.stage, { chromium: bench.chromium, poolTarget: 0, allow: bench.site.address, environment });
  const lines = (await Promise.all(names.map((name) => httpLines(berth, name)))).flat();
  await runInterleaved(bench, lines);
  await berth.stop();
  return lines;
}

async function measureInProcess(bench: Bench, environment: Record<string, string>): Promise<Line[]> {
  const service = await buildInProcess(bench.stage, environment);
  const lines = (await Promise.all(names.map((name) => inProcessLines(service, name)))).flat();
  await runInterleaved(bench, lines);
  await service.close();
  return lines;
}

/** Returns the difference of the medians with and without enforced credits, in ms. */
function addedMs(lines: readonly Line[], what: string): number {
  const [enforced, not] = names.map((name) => summarize(lines.find((line) => line.what === what && line.name === name)?.ms ?? []).p50);
  return (enforced ?? Number.NaN) - (not ?? Number.NaN);
}

/** Time that charging before the response adds to a metered call. `--runs` is the number of calls of each kind. */
export async function admission(bench: Bench): Promise<Section> {
  const environment = environmentOf(bench.stage);
  const lines = [...(bench.withBerth ? await measureHttp(bench, environment) : []), ...(await measureInProcess(bench, environment))];
  const check = (what: string): Check => ({
    what: `${what}, p50: what enforced credits add`,
    measured: addedMs(lines, what),
    target: 2,
    rule: 'at most',
    unit: 'ms',
  });
  return {
    name: 'money: what admission adds to a metered call, one at a time',
    columns: ['p50 / p95 / p99', 'credits', 'n', 'ms', 'p50 added ms'],
    rows: lines.map(({ what, name, ms }) => [what, name, ms.length, spread(ms), name === 'enforced' ? addedMs(lines, what) : '']),
    checks: [...(bench.withBerth ? [check('rotate-ip'), check('navigate to about:blank')] : []), check('admit()')],
    notes: ['admit() is only the hold on the wallet; the charge is durable when it returns'],
  };
}
