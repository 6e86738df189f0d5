/** Plays several schedules at once on one fleet that is disturbed meanwhile, and checks their history. */
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { snapshotOf, type LedgerReader } from '../ledger/ledger-reader.ts';
import { Probe } from '../ledger/probe.ts';
import { Random } from '../ledger/random.ts';
import { checkHistory } from './check-history.ts';
import { formatFault, planFaults, type PlannedFault, type Weights } from './faults.ts';
import { FleetClient } from './fleet-client.ts';
import type { FleetProcess, ProcessReport } from './fleet-process.ts';
import { nowMs, Recorder, type BrowserAct, type BrowserLife, type Freeze, type Period, type Taking } from './history.ts';
import { Player } from './player.ts';
import { createSchedule, sessionsMax, type Schedule } from './schedule.ts';

export interface RoundContext {
  workers: readonly FleetProcess[];
  reader: LedgerReader;
  adminKey: string;
  log: FleetLog;
}

/** What the workers of a round logged, their browsers and leases. */
export class FleetLog {
  lines: string[] = [];
  acts: BrowserAct[] = [];
  browsers: (BrowserLife & { browser: string; process: string })[] = [];
  takings: Taking[] = [];
  freezes: Freeze[] = [];
  #startedMs = nowMs();

  begin(): void {
    [this.lines, this.acts, this.#startedMs] = [[], [], nowMs()];
    [this.browsers, this.takings, this.freezes] = [[], [], []];
  }

  take(report: ProcessReport): void {
    const { process, workerId: worker } = report;
    const end = (browsers: BrowserLife[], atMs: number): void => {
      for (const each of browsers) each.toMs = Math.min(each.toMs, atMs);
    };
    const own = this.browsers.filter((each) => each.process === process);
    if (report.type === 'act') this.acts.push({ callId: report.callId, browser: report.browser, atMs: report.atMs, worker: process });
    else if (report.type === 'taken') {
      this.takings.push(...report.workers.map((taken) => ({ worker: taken, atMs: report.atMs })));
      this.add(`${process} took the lease of ${report.workers.join(', ')}`);
    } else if (report.type === 'frozen') this.freezes.push({ worker, fromMs: report.fromMs, toMs: report.toMs });
    else if (report.type === 'exited') end(own, nowMs());
    else if (report.isOver)
      end(
        own.filter(({ browser }) => browser === report.browser),
        report.atMs,
      );
    else this.browsers.push({ browser: report.browser, process, worker, fromMs: report.atMs, toMs: Number.POSITIVE_INFINITY });
  }

  add(text: string): void {
    this.lines.push(`${Math.round(nowMs() - this.#startedMs)} ms ${text}`);
  }
}

/** Faults begin in this time; the last one may take twice as long. */
const faultsMs = 6000;
/** Time in which workers that were frozen or cut off serve clients again. */
const aftermathMs = 2500;
/** Holds and jobs that a fault left are over by then, also on a busy machine. */
const quietMsMax = 60_000;
const busyMsMax = 15_000;
const pollMs = 250;
/** Loops that end what a fault left, on each worker. */
const loops = ['session-recovery', 'metering', 'credit-holds'];

/**
 * Returns a summary. `planned`: instead of the seed's faults.
 * @throws AssertionError with all violations, the faults and what the workers logged
 */
export async function playRound(
  seed: number,
  count: number,
  { planned, weights, ...context }: RoundContext & { planned?: readonly PlannedFault[] | undefined; weights?: Weights },
): Promise<string> {
  const random = new Random(seed);
  const name = `f${seed}`;
  const schedules = Array.from({ length: count }, (_, index) => createSchedule(`${name}-s${index}`, random.split()));
  const faults = planned ?? planFaults(random.split(), faultsMs, weights);
  context.log.begin();
  const recorders = schedules.map(() => new Recorder());
  const players = schedules.map((schedule, index) => createPlayer(schedule, recorders[index] ?? assert.fail(), context));
  const probe = new Probe(context.reader, `${name}-`);
  await Promise.all(players.map((player) => player.open(random.split())));
  probe.start();
  const over = new AbortController();
  const disturbed = busy(context)
    .then(() => disturb(context.workers, faults))
    .then(() => sleep(aftermathMs))
    .then(() => revisit(players, random.split(), context))
    .finally(() => over.abort());
  await Promise.all([...players.map((player) => player.play(over.signal)), disturbed]);
  await probe.stop();
  const failures = await restart(context.workers);
  const unfinished = await untilQuiet({ name, players, random }, context);
  const quietMs = nowMs();
  await Promise.all(players.map((player) => player.close(random.split())));
  await players[0]?.proveService(random.split());
  await runLoops(context.workers);
  const { browsers, takings, freezes } = context.log;
  const snapshot = await context.reader.read(`${name}-`, []);
  const issues = [...probe.issues, ...failures, ...unfinished, ...context.workers.flatMap((worker) => worker.unexpectedExits.splice(0))];
  for (const [index, { name: schedule }] of schedules.entries()) {
    const { calls, issues: own } = recorders[index] ?? assert.fail();
    const ids = new Set(calls.map(({ id }) => id));
    const violations = checkHistory({
      calls,
      acts: context.log.acts.filter(({ callId }) => ids.has(callId)),
      // Each of them is reported once.
      browsers: index === 0 ? browsers : [],
      takings,
      freezes,
      ledger: snapshotOf(snapshot, schedule),
      sessionsMax,
      databaseFaults: periodsOf(context.workers),
      quietMs,
    });
    issues.push(...own, ...violations.map((violation) => `${schedule}: ${violation}`));
  }
  const repeat = planned ? '' : `BERTH_TEST_FLEET_SEED=${seed} `;
  assert.ok(issues.length === 0, formatReport(repeat, { issues, faults, lines: context.log.lines }));
  return summaryOf(recorders, faults, takings);
}

function summaryOf(recorders: Recorder[], faults: readonly PlannedFault[], takings: Taking[]): string {
  const calls = recorders.flatMap((recorder) => recorder.calls);
  const count = (outcome: string): string => `${calls.filter((call) => call.outcome === outcome).length} ${outcome}`;
  return `${calls.length} calls: ${['done', 'refused', 'unknown'].map(count).join(', ')}; leases taken: ${takings.length}; ${faults.map(formatFault).join(', ')}`;
}

function createPlayer(schedule: Schedule, recorder: Recorder, { workers, adminKey }: RoundContext): Player {
  return new Player(schedule, { client: new FleetClient({ workers, adminKey, recorder }), recorder });
}

/** Waits until each worker runs a browser, so that a fault disturbs something. */
async function busy({ workers, log }: RoundContext): Promise<void> {
  const isBusy = ({ workerId }: FleetProcess): boolean => log.browsers.some(({ worker }) => worker === workerId);
  for (const startedMs = nowMs(); !workers.every(isBusy) && nowMs() - startedMs < busyMsMax;) await sleep(pollMs);
}

async function revisit(players: Player[], random: Random, { log }: RoundContext): Promise<void> {
  const lost = new Set(log.takings.map(({ worker }) => worker));
  await Promise.all(players.map((player) => player.revisit(lost, random.split())));
}

/** Each worker suffers its own faults, one after another. */
async function disturb(workers: readonly FleetProcess[], faults: readonly PlannedFault[]): Promise<void> {
  const startedMs = nowMs();
  const everywhere = async (work: () => Promise<void>): Promise<void> =>
    void (await Promise.all(workers.map((worker) => worker.disturbDatabase('cut', work))));
  await Promise.all(
    workers.map(async (worker) => {
      for (const fault of faults.filter(({ worker: index }) => index === worker.index)) {
        await sleep(Math.max(0, startedMs + fault.atMs - nowMs()));
        await worker.suffer(fault, everywhere);
      }
    }),
  );
}

/** Restarts all workers: credits that calls held while the database was out of reach are free then, or when their time is over. */
async function restart(workers: readonly FleetProcess[]): Promise<string[]> {
  await Promise.all(workers.map((worker) => worker.restart()));
  return workers.flatMap((worker) => worker.unexpectedExits.splice(0));
}

/** Waits until no job runs and nothing is held. Returns what never ended. */
async function untilQuiet(
  { name, players, random }: { name: string; players: Player[]; random: Random },
  { workers, reader }: RoundContext,
): Promise<string[]> {
  for (const startedMs = nowMs(); ; await sleep(pollMs)) {
    const failures = await runLoops(workers);
    const { holds } = await reader.readLedger(`${name}-`);
    const open = await Promise.all(players.map((player) => player.hasOpenJob(random.split())));
    const rest = [
      ...failures,
      ...holds.map(({ opId }) => `${opId} is still held`),
      ...(open.includes(true) ? ['a job has not ended'] : []),
    ];
    if (rest.length === 0 || nowMs() - startedMs > quietMsMax) return rest;
  }
}

async function runLoops(workers: readonly FleetProcess[]): Promise<string[]> {
  const answers = await Promise.all(workers.map(({ process }) => process.runLoops(loops)));
  return answers.filter(({ status }) => status !== 200).map((answer) => `a loop failed: ${JSON.stringify(answer)}`);
}

const periodsOf = (workers: readonly FleetProcess[]): Period[] => workers.flatMap(({ databaseFaults }) => databaseFaults);

function formatReport(
  repeat: string,
  { issues, faults, lines }: { issues: string[]; faults: readonly PlannedFault[]; lines: string[] },
): string {
  return [
    ...issues,
    'Planned:',
    ...faults.map((fault) => `  ${formatFault(fault)}`),
    'Log:',
    ...lines.map((line) => `  ${line}`),
    `Repeat with: ${repeat}node_modules/.bin/node --test tests/fleet/schedules.test.ts`,
  ].join('\n');
}
