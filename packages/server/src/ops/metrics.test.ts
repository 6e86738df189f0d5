import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { EndedReason } from '@berth/contract';
import type { FleetStats } from '../fleet/pool/pool.ts';
import type { FinishedRun } from '../work/flows/flows.ts';
import { Loop } from '@berth/lib/loop.ts';
import type { SessionRecord } from '../sessions/sessions/sessions.ts';
import { Metrics, type MetricsDeps } from './metrics.ts';
import { readMetrics, type Metric } from '../../testing/ops.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

const idleFleet: FleetStats = {
  runtime: { name: 'fake', isolation: 'process', browser: { version: 'Chromium 1', builtAt: new Date(0) }, warnings: [] },
  machines: [],
  targets: [],
  boots: [],
  bootFailures: [],
  retired: { surplus: 0, old: 0, outdated: 0, lost: 0 },
  templates: [],
  failing: [],
  waiting: 0,
  admitting: true,
};
const noneRefused = { plan_limit_exceeded: 0, insufficient_credits: 0 };

const untimed: MetricsDeps['timed'] = {
  store: { observe: () => {}, connections: { busy: 0, idle: 0, waiting: 0 } },
  fleet: { observe: () => {} },
  sessions: { onTurn: () => {} },
  jobs: { onStarted: () => {} },
  fetches: { machines: { onTurn: () => {} } },
};

/** Services whose stats a test sets. */
function createMetrics(stats: Partial<MetricsDeps> = {}) {
  const listeners: ((record: SessionRecord) => void)[] = [];
  const runs: ((run: FinishedRun) => void)[] = [];
  const metrics = new Metrics({
    registryVersion: 'builtin',
    version: '1.2.3',
    credits: {
      stats: () => ({ charged: { action: 0, session: 0, captcha: 0, egress: 0 }, granted: 0, redeemed: 0, refused: 0 }),
      check: { at: null, wrong: 0 },
    },
    metering: {
      stats: () => ({
        totals: { actions: 0, egress_bytes: 0, browser_seconds: 0, sessions: 0, captcha_solves: 0 },
        refused: noneRefused,
        meters: 0,
      }),
    },
    billing: { stats: () => ({ events: [], unsigned: 0 }) },
    gate: { stats: () => ({ bytesIn: 0, bytesOut: 0, proxiedIn: 0, proxiedOut: 0, routesOpen: 0 }) },
    fleet: { stats: () => idleFleet },
    disk: { state: { level: 'low', freeBytes: 7, freeBytesMin: 8 } },
    sessions: { live: new Map(), onEnded: (listener) => listeners.push(listener) },
    jobs: { load: { pending: 0, slots: 0 } },
    inspections: { onCompleted: () => {} },
    objects: null,
    recordings: { uploadsPending: 0 },
    loops: [],
    stalls: { totals: new Map() },
    timed: untimed,
    flows: { onFinished: (listener) => runs.push(listener) },
    skills: { heals: { verified: 2, unverified: 0, failed: 1, skipped: 0 } },
    ...stats,
  });
  const read = async (): Promise<Map<string, Metric>> => readMetrics(await metrics.text());
  const value = async (series: string): Promise<number | undefined> =>
    (await read()).get(series.split('{')[0]?.replace(/_(bucket|sum|count)$/, '') ?? '')?.samples.get(series);
  const end = (endedReason: EndedReason): void => listeners.forEach((listener) => listener({ endedReason } as SessionRecord));
  const finish = (run: FinishedRun): void => runs.forEach((listener) => listener(run));
  return { metrics, read, value, end, finish };
}

describe('the metrics', () => {
  it('the metrics are text that Prometheus parses, with all series from the start', async () => {
    const { metrics, read } = createMetrics();
    assert.equal(metrics.contentType, 'text/plain; version=0.0.4; charset=utf-8');
    const parsed = await read();
    assert.equal(parsed.get('berth_build_info')?.samples.get('berth_build_info{version="1.2.3"}'), 1);
    for (const [name, { help }] of parsed) assert.ok(help.endsWith('.'), `${name} says what it is`);
    assert.equal(parsed.get('berth_denials_total')?.samples.get('berth_denials_total{reason="insufficient_credits"}'), 0);
    assert.equal(parsed.get('berth_sessions_ended_total')?.samples.get('berth_sessions_ended_total{reason="plan_limit"}'), 0);
  });

  it('the metrics report charged, granted and redeemed credits, and metered usage', async () => {
    const { value } = createMetrics({
      credits: {
        stats: () => ({ charged: { action: 0.03, session: 2, captcha: 0, egress: 0.000001 }, granted: 100, redeemed: 5.5, refused: 3 }),
        check: { at: new Date(1_790_000_000_500), wrong: 1 },
      },
      metering: {
        stats: () => ({
          totals: { actions: 3, egress_bytes: 5_000_000_000, browser_seconds: 61, sessions: 2, captcha_solves: 0 },
          refused: noneRefused,
          meters: 7,
        }),
      },
    });
    assert.equal(await value('berth_credits_total{axis="action"}'), 0.03);
    assert.equal(await value('berth_credits_total{axis="session"}'), 2);
    assert.equal(await value('berth_credits_total{axis="egress"}'), 0.000001);
    assert.equal(await value('berth_credits_granted_total'), 100);
    assert.equal(await value('berth_credits_redeemed_total'), 5.5);
    assert.equal(await value('berth_ledger_wrong_wallets'), 1);
    assert.equal(await value('berth_ledger_check_timestamp_seconds'), 1_790_000_000.5);
    assert.equal(await value('berth_usage_total{axis="egress_bytes"}'), 5_000_000_000);
    assert.equal(await value('berth_usage_total{axis="browser_seconds"}'), 61);
    assert.equal(await value('berth_meters'), 7);
  });

  it('the metrics report the bytes of the gate, and those of the proxies of the operator', async () => {
    const { value } = createMetrics({
      gate: { stats: () => ({ bytesIn: 1000, bytesOut: 200, proxiedIn: 700, proxiedOut: 50, routesOpen: 2 }) },
    });
    assert.equal(await value('berth_egress_bytes_total{direction="in"}'), 1000);
    assert.equal(await value('berth_egress_bytes_total{direction="out"}'), 200);
    assert.equal(await value('berth_residential_egress_bytes_total{direction="in"}'), 700);
    assert.equal(await value('berth_residential_egress_bytes_total{direction="out"}'), 50);
    assert.equal(await value('berth_egress_routes'), 2);
  });

  it('the metrics report stalls of the event loop by what it did', async () => {
    const totals = new Map([['fetch', { count: 2, seconds: 1.5 }]]);
    const { value } = createMetrics({ stalls: { totals } });
    assert.equal(await value('berth_event_loop_stalls_total{during="fetch"}'), 2);
    assert.equal(await value('berth_event_loop_stall_seconds_total{during="fetch"}'), 1.5);
  });

  it('the metrics count runs of flows by name and status, how long they took, and heals', async () => {
    const { finish, value } = createMetrics();
    finish({ task: 'extract', status: 'ok', ms: 400 });
    finish({ task: 'extract', status: 'blocked', ms: 2000 });
    assert.equal(await value('berth_flow_runs_total{task="extract",status="blocked"}'), 1);
    assert.equal(await value('berth_flow_duration_seconds_bucket{le="0.5",task="extract"}'), 1);
    assert.equal(await value('berth_flow_duration_seconds_sum{task="extract"}'), 2.4);
    assert.equal(await value('berth_heals_total{result="verified"}'), 2);
    assert.equal(await value('berth_heals_total{result="skipped"}'), 0);
  });

  it('the metrics count requests by endpoint and status, and how long they took', async () => {
    const { metrics, value } = createMetrics();
    metrics.observeRequest({ endpointId: 'getUsage', status: 200, code: null, ms: 3 });
    metrics.observeRequest({ endpointId: 'getUsage', status: 200, code: null, ms: 80 });
    metrics.observeRequest({ endpointId: '', status: 404, code: 'route_not_found', ms: 1 });
    assert.equal(await value('berth_http_requests_total{endpoint="getUsage",status="200"}'), 2);
    assert.equal(await value('berth_http_requests_total{endpoint="none",status="404"}'), 1);
    assert.equal(await value('berth_http_request_duration_seconds_bucket{le="0.005",endpoint="getUsage"}'), 1);
    assert.equal(await value('berth_http_request_duration_seconds_bucket{le="0.1",endpoint="getUsage"}'), 2);
    assert.equal(await value('berth_http_request_duration_seconds_sum{endpoint="getUsage"}'), 0.083);
  });

  it('the metrics count denied requests, and not those for missing resources', async () => {
    const { metrics, read, value } = createMetrics();
    const refused = {
      insufficient_credits: 402,
      concurrency_limit: 429,
      no_capacity: 503,
      invalid_api_key: 403,
      missing_api_key: 401,
    } as const;
    for (const [code, status] of Object.entries(refused))
      metrics.observeRequest({ endpointId: 'createSession', status, code: code as keyof typeof refused, ms: 1 });
    for (const code of Object.keys(refused)) assert.equal(await value(`berth_denials_total{reason="${code}"}`), 1, code);
    metrics.observeRequest({ endpointId: 'getSession', status: 404, code: 'session_not_found', ms: 1 });
    metrics.observeRequest({ endpointId: 'createSession', status: 422, code: null, ms: 1 });
    metrics.observeRequest({ endpointId: 'navigate', status: 502, code: 'navigation_failed', ms: 1 });
    const denials = [...((await read()).get('berth_denials_total')?.samples.values() ?? [])];
    assert.equal(
      denials.reduce((sum, each) => sum + each, 0),
      5,
    );
  });

  it('the metrics report held sessions by status and ended ones by reason', async () => {
    const statuses = ['starting', 'ready', 'ready', 'failed'] as const;
    const live = new Map(statuses.map((status, at) => [String(at), { status }])) as unknown as MetricsDeps['sessions']['live'];
    const listeners: ((record: SessionRecord) => void)[] = [];
    const { value } = createMetrics({ sessions: { live, onEnded: (listener) => listeners.push(listener) } });
    for (const [status, count] of Object.entries({ starting: 1, ready: 2, ending: 0, failed: 1 }))
      assert.equal(await value(`berth_sessions{status="${status}"}`), count);
    for (const endedReason of ['requested', 'requested', 'credits_exhausted'] as const)
      listeners.forEach((listener) => listener({ endedReason } as SessionRecord));
    assert.equal(await value('berth_sessions_ended_total{reason="requested"}'), 2);
    assert.equal(await value('berth_sessions_ended_total{reason="credits_exhausted"}'), 1);
  });

  it('the metrics report the machines of each kind, their boots and their losses', async () => {
    const kind = 'headless';
    const ready = { kind, state: 'ready', count: 2 } as const;
    const stats: FleetStats = {
      ...idleFleet,
      machines: [ready, { kind, state: 'assigned', count: 3 }],
      targets: [{ kind, target: 4 }],
      boots: [{ kind, method: 'clone', count: 7 }],
      bootFailures: [{ kind, count: 1 }],
      retired: { ...idleFleet.retired, outdated: 5 },
      templates: [
        { kind, isCold: true },
        { kind: 'shell', isCold: false },
      ],
      waiting: 6,
    };
    const { value } = createMetrics({ fleet: { stats: () => stats } });
    for (const [series, expected] of Object.entries({
      'berth_pool_machines{kind="headless",state="assigned"}': 3,
      'berth_pool_machines{kind="headless",state="ready"}': 2,
      'berth_pool_target{kind="headless"}': 4,
      'berth_pool_retired_total{reason="outdated"}': 5,
      'berth_pool_retired_total{reason="lost"}': 0,
      'berth_machine_boots_total{kind="headless",method="clone"}': 7,
      'berth_machine_boot_failures_total{kind="headless"}': 1,
      'berth_template_cold{kind="headless"}': 1,
      'berth_template_cold{kind="shell"}': 0,
      berth_machine_boots_waiting: 6,
      berth_admitting: 1,
      berth_disk_free_bytes: 7,
      berth_disk_low: 1,
    }))
      assert.equal(await value(series), expected, series);
    stats.machines = [{ ...ready, count: 1 }];
    assert.equal(await value('berth_pool_machines{kind="headless",state="ready"}'), 1);
  });

  it('the metrics report jobs and loops as they are at each scrape', async () => {
    const load = { pending: 5, slots: 2 };
    const loop = new Loop('refill', 1000, () => Promise.reject(new Error('no')));
    const { value } = createMetrics({ jobs: { load }, loops: [loop] });
    assert.deepEqual([await value('berth_jobs{state="queued"}'), await value('berth_jobs{state="running"}')], [3, 2]);
    assert.equal(await value('berth_loop_failures{loop="refill"}'), 0);
    for (let turn = 0; turn < 2; turn += 1) await (loop.nudge(), loop.idle());
    assert.deepEqual([await value('berth_loop_failures{loop="refill"}'), await value('berth_loop_turns_total{loop="refill"}')], [2, 2]);
  });

  it('the metrics count inspections by their end, and how long they and their reports took', async () => {
    const listeners: Parameters<MetricsDeps['inspections']['onCompleted']>[0][] = [];
    const { value } = createMetrics({ inspections: { onCompleted: (listener) => listeners.push(listener) } });
    assert.equal(await value('berth_inspections_total{status="blocked"}'), 0);
    listeners.forEach((listener) => listener({ status: 'ok', durationMs: 4000, reportMs: 300 }));
    listeners.forEach((listener) => listener({ status: 'cancelled', durationMs: 2000, reportMs: null }));
    for (const status of ['ok', 'cancelled']) assert.equal(await value(`berth_inspections_total{status="${status}"}`), 1, status);
    assert.equal(await value('berth_inspection_duration_seconds_sum'), 6);
    assert.deepEqual([await value('berth_inspection_report_seconds_sum'), await value('berth_inspection_report_seconds_count')], [0.3, 1]);
  });

  it('the metrics report how long machines boot and are waited for', async () => {
    let observer: Parameters<MetricsDeps['timed']['fleet']['observe']>[0] | undefined;
    const { value } = createMetrics({ timed: { ...untimed, fleet: { observe: (each) => void (observer = each) } } });
    observer?.onBooted({ kind: 'headless', method: 'clone', ms: 300 });
    observer?.onAcquired({ kind: 'headless', warm: true, ms: 3, queuedMs: null });
    observer?.onAcquired({ kind: 'headless', warm: false, ms: 2000, queuedMs: 1500 });
    assert.equal(await value('berth_machine_boot_duration_seconds_bucket{le="0.5",kind="headless",method="clone"}'), 1);
    assert.equal(await value('berth_machine_acquire_duration_seconds_sum{kind="headless",source="pool"}'), 0.003);
    assert.equal(await value('berth_machine_acquire_duration_seconds_sum{kind="headless",source="boot"}'), 2);
    const queued = '{queue="machine_boot"}';
    assert.deepEqual(
      [await value(`berth_queue_wait_seconds_sum${queued}`), await value(`berth_queue_wait_seconds_count${queued}`)],
      [1.5, 1],
    );
  });

  it('the metrics report when each loop last succeeded, and how long it is overdue', async () => {
    const hanging = new Loop('stuck', 1, (signal) => new Promise((resolve) => signal.addEventListener('abort', () => resolve())));
    const working = new Loop('refill', 60_000, () => Promise.resolve());
    const { value } = createMetrics({ loops: [hanging, working] });
    assert.equal(await value('berth_loop_last_success_timestamp_seconds{loop="refill"}'), 0);
    for (const loop of [hanging, working]) loop.start();
    await working.idle();
    const lastSuccess = await value('berth_loop_last_success_timestamp_seconds{loop="refill"}');
    assert.ok(Math.abs((lastSuccess ?? 0) - Date.now() / 1000) < 60, String(lastSuccess));
    const lag = async (name: string): Promise<number> => (await value(`berth_loop_lag_seconds{loop="${name}"}`)) ?? NaN;
    while ((await lag('stuck')) < 0.01) await sleep(1);
    assert.deepEqual([await lag('refill'), await value('berth_loop_last_success_timestamp_seconds{loop="stuck"}')], [0, 0]);
    assert.equal(await value('berth_loop_interval_seconds{loop="refill"}'), 60);
    for (const loop of [hanging, working]) await loop.stop();
    assert.equal(await lag('stuck'), 0);
  });

  it('the metrics report billing events, and those that were accepted without a signature', async () => {
    const events: ReturnType<MetricsDeps['billing']['stats']>['events'] = [
      { type: 'invoice.paid', outcome: 'applied', count: 2 },
      { type: 'other', outcome: 'ignored', count: 1 },
    ];
    const { value } = createMetrics({ billing: { stats: () => ({ events, unsigned: 3 }) } });
    assert.equal(await value('berth_webhook_events_total{type="invoice.paid",outcome="applied"}'), 2);
    assert.equal(await value('berth_webhook_events_total{type="other",outcome="ignored"}'), 1);
    assert.equal(await value('berth_webhooks_unsigned_total'), 3);
  });
});

describe('process metrics', () => {
  it('process metrics report memory, CPU, files, event loop delay and garbage collections', async () => {
    const { value } = createMetrics();
    assert.ok(((await value('process_resident_memory_bytes')) ?? 0) > 1e6);
    assert.ok(((await value('process_cpu_seconds_total')) ?? 0) > 0);
    assert.ok(((await value('process_open_fds')) ?? 1) > 0);
    assert.ok(Math.abs(((await value('process_start_time_seconds')) ?? 0) - (Date.now() / 1000 - process.uptime())) < 60);
    // Nothing was sampled where two scrapes are less than 10 ms apart, or the process did not run between them.
    const isSampled = async (figure: string): Promise<boolean> => ((await value(`nodejs_eventloop_lag_${figure}_seconds`)) ?? -1) >= 0;
    for (const figure of ['mean', 'p50', 'p99', 'max']) while (!(await isSampled(figure))) await sleep(50);
    const major = async (): Promise<number> => (await value('nodejs_gc_duration_seconds_count{kind="major"}')) ?? 0;
    for (const start = performance.now(); (await major()) === 0; await sleep(5))
      assert.ok((collectGarbage(), performance.now() - start < 20_000), 'no garbage collection was counted');
  });

  it('process metrics are collected once for all workers of a process, and do not keep it alive', async () => {
    // A scrape measures the event loop with an immediate of its own.
    const resources = (): string[] => process.getActiveResourcesInfo().filter((type) => type !== 'Immediate');
    await createMetrics().read();
    const before = resources();
    const workers = [createMetrics(), createMetrics()];
    for (const { read } of workers) assert.ok((await read()).has('process_cpu_seconds_total'));
    // What an earlier test closes may be gone by now.
    const added = resources();
    for (const each of before) if (added.includes(each)) added.splice(added.indexOf(each), 1);
    assert.deepEqual(added, []);
  });
});

describe('the reader of the format', () => {
  const good = '# HELP a_total Some.\n# TYPE a_total counter\na_total{b="c"} 1\n';
  it('the reader of the metrics format accepts valid metrics', () => {
    assert.equal(readMetrics(good).get('a_total')?.samples.get('a_total{b="c"}'), 1);
  });
  const wrongs = {
    'a series twice': `${good}a_total{b="c"} 2\n`,
    'a metric twice': good + good,
    'a sample of another metric': `${good}b_total 1\n`,
    'a label without quotes': good.replace('"c"', 'c'),
    'a quote that is not escaped': good.replace('"c"', '"c"d"'),
    'no number': good.replace(' 1\n', ' one\n'),
    'a counter that is negative': good.replace(' 1\n', ' -1\n'),
    'a type that there is not': good.replace('counter', 'count'),
    'no end of the last line': good.trimEnd(),
  };
  for (const [what, text] of Object.entries(wrongs))
    it(`the reader of the metrics format refuses ${what}`, () => assert.throws(() => readMetrics(text)));
});
