/** Some schedules at once on one service that is killed under all of them, and the comparison of what is left with the model. */
import assert from 'node:assert/strict';
import { codeDigest } from '../../packages/server/src/lib/code.ts';
import { booksOf } from './books.ts';
import { closeBooks, findLeaks, tryKeys } from './closing.ts';
import { Dice } from './dice.ts';
import { faultText, makeLives, type LifePlan } from './faults.ts';
import { History } from './history.ts';
import { judge } from './judge.ts';
import { Player } from './player.ts';
import { Probe } from './probe.ts';
import { makeSchedule, requestsIn, type Schedule } from './schedule.ts';
import type { World } from './world.ts';

const dayMs = 86_400_000;
/** What the service says itself of a wallet that is wrong. */
const wrongWallet = 'a wallet is not what its journal and its holds say';

/** All that a seed stands for. */
export interface Round {
  name: string;
  schedules: Schedule[];
  lives: LifePlan[];
  /** How much later the books are closed than the last life: not at all, or when all that has a time has run out. */
  closingMs: number;
}

export function makeRound(seed: number, schedules: number): Round {
  const dice = new Dice(seed);
  const name = `r${seed}`;
  const made = Array.from({ length: schedules }, (_, index) => makeSchedule(`${name}-s${index}`, dice.split()));
  const requests = made.map(requestsIn).reduce((sum, number) => sum + number, 0);
  const lives = makeLives(dice.split(), requests);
  // A worker that stops for good leaves what it held to its time.
  const closingMs = lives.at(-1)?.workers === 1 && dice.chance(0.5) ? 0 : dayMs;
  return { name, schedules: made, lives, closingMs };
}

/** Throws an AssertionError that tells what is wrong, and all that led to it. */
export async function playRound(seed: number, schedules: number, world: World): Promise<void> {
  const round = makeRound(seed, schedules);
  world.told.begin();
  const { histories, complaints } = await play(round, world);
  const leaks = await findLeaks(world, { prefix: `${round.name}-`, histories });
  const { lastLife, failures } = await closeBooks(world, round.closingMs);
  const books = await world.reader.read(`${round.name}-`, histories.flatMap(digestsIn));
  complaints.push(
    ...leaks,
    ...failures,
    ...world.lives.accidents.splice(0),
    ...world.told.lines.filter((line) => line.includes(wrongWallet)),
  );
  for (const [index, schedule] of round.schedules.entries()) {
    const history = histories[index] ?? assert.fail();
    await tryKeys(history, world);
    const found = [...history.complaints, ...judge({ schedule, history, books: booksOf(books, schedule.name), lastLife })];
    if (found.length > 0)
      complaints.push(`${schedule.name}:\n  ${found.join('\n  ')}\n  What its clients did:\n    ${history.trace.join('\n    ')}`);
  }
  assert.ok(complaints.length === 0, report(seed, round.lives, { complaints, told: world.told.lines }));
}

/** All clients of all schedules at once, and somebody who looks at the books meanwhile. */
async function play(
  round: Round,
  { lives, outside, reader, adminKey, told }: World,
): Promise<{ histories: History[]; complaints: string[] }> {
  let ticks = 0;
  const clock = { tick: () => (ticks += 1), now: () => told.now() };
  const histories = round.schedules.map(() => new History(clock));
  const players = histories.map(
    (history, index) => new Player(round.schedules[index] ?? assert.fail(), { lives, outside, history, adminKey }),
  );
  await Promise.all(players.map((player) => player.open()));
  await lives.follow(round.lives);
  const probe = new Probe(reader, `${round.name}-`);
  probe.start();
  await Promise.all(players.map((player) => player.play()));
  await probe.stop();
  return { histories, complaints: [...probe.complaints] };
}

const digestsIn = (history: History): string[] =>
  [...history.of('redemption'), ...history.of('trial')].map(({ code }) => codeDigest(code).toString('hex'));

function report(seed: number, lives: LifePlan[], { complaints, told }: { complaints: string[]; told: string[] }): string {
  const plans = lives.map(({ faults, repliesMax, jumpMs, isOther, workers }, index) => {
    const ends = repliesMax === null ? 'to the end' : `at most ${repliesMax} replies`;
    return `life ${index + 1}: ${ends}, clock ${jumpMs / 60_000} min on${isOther ? ', another worker' : ''}${workers > 1 ? ', and a second one' : ''}; ${faults.map(faultText).join(', ') || 'no faults'}`;
  });
  return [
    complaints.join('\n'),
    'What was planned:',
    ...plans.map((line) => `  ${line}`),
    'What the service said:',
    ...told.map((line) => `  ${line}`),
    `Again: BERTH_TEST_SEED=${seed} node_modules/.bin/node --test tests/ledger/ledger.test.ts`,
  ].join('\n');
}
