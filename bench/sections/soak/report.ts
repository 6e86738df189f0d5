/** What a soak measured, as a section of the bench. */
import { type Check, type Section, slopeOf, spread, summarize } from '../../figures.ts';
import type { Sample } from './ordinary.ts';
import { type EndedSession, type MemorySample, type WorkerStats, sampleMs } from './worker.ts';

export interface Phase {
  name: string;
  fromMs: number;
  toMs: number;
  /** Statistics of the worker at the begin and at the end of the phase. */
  before: WorkerStats;
  stats: WorkerStats;
}

export interface Measured {
  samples: Sample[];
  /** Warm-up, calm, one for each attack, calm again. */
  phases: Phase[];
  /** Memory of the worker. */
  memory: MemorySample[];
  ended: { owner: string; sessions: EndedSession[] }[];
  /** Names of processes of machines that outlived the service. */
  left: string[];
}

/** Caches, pools and the compiler are full after that. */
const warmUpShare = 1 / 3;
const hourInSamples = 3_600_000 / sampleMs;
const messageCharsMax = 300;
const failuresShownMax = 20;

type Timed = { atMs: number };
const within = <T extends Timed>(samples: readonly T[], { fromMs, toMs }: Phase): T[] =>
  samples.filter(({ atMs }) => atMs >= fromMs && atMs < toMs);
const isFailed = ({ error }: Sample): boolean => error !== null;
const msOf = (samples: readonly Sample[], operation: string): number[] =>
  samples.filter((sample) => sample.operation === operation && !isFailed(sample)).map(({ ms }) => ms);

interface Compared {
  calm: Phase;
  attacks: Phase[];
  after: Phase;
  calmSamples: Sample[];
  harmed: Sample[];
  operations: string[];
}

function compare({ samples, phases }: Measured): Compared {
  const [, calm, ...attacks] = phases;
  const after = attacks.pop();
  if (!calm || !after) throw new Error('the soak ended before its attacks');
  const operations = [...new Set(samples.map(({ operation }) => operation))].filter((operation) => operation !== 'other');
  const harmed = attacks.flatMap((phase) => within(samples, phase));
  return { calm, attacks, after, calmSamples: within(samples, calm), harmed, operations };
}

/** The worker's memory while it calms down, without the first samples after an attack. */
const medianMb = (memory: readonly MemorySample[], phase: Phase): number =>
  summarize(within(memory, { ...phase, fromMs: (phase.fromMs + phase.toMs) / 2 }).map(({ megabytes }) => megabytes)).p50;

function checksOf(compared: Compared, { samples, memory, left, ended }: Measured): Check[] {
  const { calm, after, calmSamples, harmed, operations } = compared;
  const settled = memory.slice(Math.floor(memory.length * warmUpShare)).map(({ megabytes }) => megabytes);
  const count = (what: string, measured: number): Check => ({ what, measured, target: 0, rule: 'at most', unit: '' });
  return [
    ...operations.map((operation): Check => ({
      what: `${operation}: p99 of the calm one`,
      measured: summarize(msOf(harmed, operation)).p99 / summarize(msOf(calmSamples, operation)).p99,
      target: 2,
      rule: 'at most',
      unit: '×',
    })),
    count('failed calls', samples.filter(isFailed).length),
    count('sessions of ordinary owners that ended by themselves', lostSessions(ended).length),
    { what: 'worker, growth an hour', measured: slopeOf(settled) * hourInSamples, target: 1, rule: 'at most', unit: 'MB' },
    {
      what: 'worker after all attacks, of the calm one',
      measured: medianMb(memory, after) / medianMb(memory, calm),
      target: 1.5,
      rule: 'at most',
      unit: '×',
    },
    count('processes left on the host', left.length),
  ];
}

/** Rows by operation over all attacks, then by phase. */
function rowsOf(compared: Compared, { samples, memory }: Measured): Section['rows'] {
  const { calm, attacks, after, calmSamples, harmed, operations } = compared;
  const byOperation = operations.map((operation) => {
    const [calmMs, harmedMs] = [msOf(calmSamples, operation), msOf(harmed, operation)];
    const failed = harmed.filter((sample) => sample.operation === operation && isFailed(sample)).length;
    return [operation, calmMs.length, spread(calmMs), harmedMs.length, spread(harmedMs), failed, ''];
  });
  const byPhase = [calm, ...attacks, after].map((phase) => {
    const some = within(samples, phase);
    const ms = msOf(some, 'GET /v1/usage');
    const megabytes = within(memory, phase).map((sample) => sample.megabytes);
    const mb = [Math.max(...megabytes), megabytes.at(-1) ?? Number.NaN, phase.stats.heap, phase.stats.external];
    return [
      phase.name,
      loopOf(phase),
      '',
      ms.length,
      spread(ms),
      some.filter(isFailed).length,
      mb.map((value) => value.toFixed(0)).join(' / '),
    ];
  });
  return [...byOperation, ...byPhase];
}

/** The delay of the worker's event loop, and its share of one processor. */
function loopOf({ fromMs, toMs, before, stats }: Phase): string {
  const share = (stats.processorMs - before.processorMs) / (toMs - fromMs);
  return `${stats.delayMs.p50.toFixed(0)} / ${stats.delayMs.p99.toFixed(0)} ms, ${(share * 100).toFixed(0)} %`;
}

/** Nobody asked for these ends. Machines of fetches end when they are idle. */
const lostSessions = (ended: Measured['ended']): { owner: string; session: EndedSession }[] =>
  ended
    .filter(({ owner }) => owner !== 'hostile')
    .flatMap(({ owner, sessions }) => sessions.map((session) => ({ owner, session })))
    .filter(
      ({ session: { ended_reason: reason, purpose } }) => reason !== 'requested' && (purpose === 'session' || reason !== 'idle_timeout'),
    );

function endsOf({ owner, sessions }: Measured['ended'][number]): string {
  const counts = Map.groupBy(sessions, ({ purpose, ended_reason }) => `${ended_reason} (${purpose})`);
  return `ended sessions of ${owner}: ${[...counts].map(([reason, some]) => `${some.length} ${reason}`).join(', ') || 'none'}`;
}

/** One line for each operation and reason in each phase; ids are left out, so that equal failures are counted together. */
function failuresOf({ samples, phases }: Measured): string[] {
  const failures = samples.flatMap((sample) => {
    if (sample.error === null) return [];
    const phase = phases.find(({ fromMs, toMs }) => sample.atMs >= fromMs && sample.atMs < toMs)?.name ?? 'between two phases';
    const reason = sample.error.replaceAll(/(ses|tab|req|vm)_\w+/g, '$1_…').slice(0, messageCharsMax);
    return [`failed: ${sample.operation} during ${phase}: ${reason}`];
  });
  return [...Map.groupBy(failures, (line) => line)].map(([line, all]) => `${all.length} × ${line}`).slice(0, failuresShownMax);
}

export function report(measured: Measured): Omit<Section, 'name'> {
  const compared = compare(measured);
  const lost = lostSessions(measured.ended).map(
    ({ owner, session }) => `lost: ${session.purpose} ${session.session_id} of ${owner}: ${session.ended_reason} at ${session.ended_at}`,
  );
  return {
    columns: ['p50 / p95 / p99', 'n, calm', 'calm ms', 'n, attacked', 'attacked ms', 'failed', 'worker MB: most / last / heap / external'],
    rows: rowsOf(compared, measured),
    checks: checksOf(compared, measured),
    notes: [
      'the row of a phase shows p50 / p99 of the delay of the event loop, the processor time of the worker, and GET /v1/usage of the others',
      ...failuresOf(measured),
      ...measured.ended.map(endsOf),
      ...lost,
      ...measured.left.map((process) => `left on the host: ${process}`),
    ],
  };
}
