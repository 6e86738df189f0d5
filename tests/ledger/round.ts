/** Plays several schedules at once on one service that is killed meanwhile, and compares the database with the model. */
import assert from 'node:assert/strict';
import { codeDigest } from '@berth/lib/code.ts';
import { snapshotOf } from './ledger-reader.ts';
import { restartService, findLeakedHolds, checkKeys } from './round-end.ts';
import { Random } from './random.ts';
import { formatFault, createRunPlans, type RunPlan } from './faults.ts';
import { History } from './history.ts';
import { checkSchedule } from './check/check.ts';
import { Player } from './player.ts';
import { Probe } from './probe.ts';
import { createSchedule, requestsIn, type Schedule } from './schedule.ts';
import type { RoundContext } from './context.ts';

const dayMs = 86_400_000;
/** The service's own log line about an inconsistent wallet. */
const walletMismatch = 'wallet mismatch';

/** Everything that a seed determines. */
export interface Round {
  name: string;
  schedules: Schedule[];
  runs: RunPlan[];
  /** Clock jump before the final check: 0, or long enough for all leases and holds to expire. */
  closingMs: number;
}

export function createRound(seed: number, schedules: number): Round {
  const random = new Random(seed);
  const name = `r${seed}`;
  const created = Array.from({ length: schedules }, (_, index) => createSchedule(`${name}-s${index}`, random.split()));
  const requests = created.map(requestsIn).reduce((sum, number) => sum + number, 0);
  const runs = createRunPlans(random.split(), requests);
  // Holds of a worker that never returns are only freed by expiry.
  const closingMs = runs.at(-1)?.workers === 1 && random.chance(0.5) ? 0 : dayMs;
  return { name, schedules: created, runs, closingMs };
}

/** @throws AssertionError with all issues, the trace and the faults. */
export async function playRound(seed: number, schedules: number, context: RoundContext): Promise<void> {
  const round = createRound(seed, schedules);
  context.serviceLog.begin();
  const { histories, issues } = await play(round, context);
  const leaks = await findLeakedHolds(context, { prefix: `${round.name}-`, histories });
  const { lastRun, failures } = await restartService(context, round.closingMs);
  const snapshot = await context.reader.read(`${round.name}-`, histories.flatMap(digestsIn));
  issues.push(
    ...leaks,
    ...failures,
    ...context.runs.unexpectedExits.splice(0),
    ...context.serviceLog.lines.filter((line) => line.includes(walletMismatch)),
  );
  for (const [index, schedule] of round.schedules.entries()) {
    const history = histories[index] ?? assert.fail();
    await checkKeys(history, context);
    const scheduleIssues = [
      ...history.issues,
      ...checkSchedule({ schedule, history, snapshot: snapshotOf(snapshot, schedule.name), lastRun }),
    ];
    if (scheduleIssues.length > 0)
      issues.push(`${schedule.name}:\n  ${scheduleIssues.join('\n  ')}\n  Client trace:\n    ${history.trace.join('\n    ')}`);
  }
  assert.ok(issues.length === 0, formatReport(seed, round.runs, { issues, logLines: context.serviceLog.lines }));
}

/** Runs all clients of all schedules at once, and a probe that checks invariants meanwhile. */
async function play(
  round: Round,
  { runs, external, reader, adminKey, serviceLog }: RoundContext,
): Promise<{ histories: History[]; issues: string[] }> {
  let ticks = 0;
  const clock = { tick: () => (ticks += 1), now: () => serviceLog.now() };
  const histories = round.schedules.map(() => new History(clock));
  const players = histories.map(
    (history, index) => new Player(round.schedules[index] ?? assert.fail(), { runs, external, history, adminKey }),
  );
  await Promise.all(players.map((player) => player.open()));
  await runs.applyPlans(round.runs);
  const probe = new Probe(reader, `${round.name}-`);
  probe.start();
  await Promise.all(players.map((player) => player.play()));
  await probe.stop();
  return { histories, issues: [...probe.issues] };
}

const digestsIn = (history: History): string[] =>
  [...history.of('redemption'), ...history.of('trial')].map(({ code }) => codeDigest(code).toString('hex'));

function formatReport(seed: number, runs: RunPlan[], { issues, logLines }: { issues: string[]; logLines: string[] }): string {
  const plans = runs.map(({ faults, repliesMax, jumpMs, isNewWorker, workers }, index) => {
    const ends = repliesMax === null ? 'to the end' : `at most ${repliesMax} replies`;
    const worker = `${isNewWorker ? ', another worker' : ''}${workers > 1 ? ', and a second one' : ''}`;
    return `run ${index + 1}: ${ends}, clock ${jumpMs / 60_000} min on${worker}; ${faults.map(formatFault).join(', ') || 'no faults'}`;
  });
  return [
    issues.join('\n'),
    'Planned:',
    ...plans.map((line) => `  ${line}`),
    'Service log:',
    ...logLines.map((line) => `  ${line}`),
    `Repeat with: BERTH_TEST_SEED=${seed} node_modules/.bin/node --test tests/ledger/ledger.test.ts`,
  ].join('\n');
}
