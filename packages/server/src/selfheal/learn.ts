/** Which rung comes first, by what has worked. */
import type { StrategyName } from '@berth/contract';
import { attemptsToKnow, type Recent, type Rung } from './site.ts';
import { wilson, type Interval } from './wilson.ts';

/** How often `direct` is tried although something else does better: sites change. */
export const directAgain = 0.05;

export const scoreOf = (recent: Recent): Interval => wilson(recent.filter(([, outcome]) => outcome === 'ok').length, recent.length);

interface Scored {
  strategy: StrategyName;
  score: Interval;
}

const best = (rungs: readonly Rung[]): Scored | undefined =>
  rungs
    .map(({ strategy, recent }) => ({ strategy, score: scoreOf(recent) }))
    .toSorted((one, other) => other.score.least - one.score.least)
    .at(0);

/** The rung with the best score; null where none was ever tried. */
export const bestOf = (rungs: readonly Rung[]): StrategyName | null => best(rungs)?.strategy ?? null;

/**
 * `direct`, unless it is clearly worse than another rung: even the best that
 * may be true of it is below the worst that may be true of the other. A person
 * never comes first, however well that works: their time is the dearest.
 */
export function learned(rungs: readonly Rung[], enabled: readonly StrategyName[]): StrategyName {
  const attempts = rungs.reduce((sum, { recent }) => sum + recent.length, 0);
  if (attempts < attemptsToKnow) return 'direct';
  const direct = scoreOf(rungs.find(({ strategy }) => strategy === 'direct')?.recent ?? []);
  const other = best(rungs.filter(({ strategy }) => strategy !== 'direct' && strategy !== 'human' && enabled.includes(strategy)));
  return other && other.score.least > direct.most ? other.strategy : 'direct';
}

/** The same, but now and then `direct` again. */
export function firstRung(rungs: readonly Rung[], enabled: readonly StrategyName[], random: () => number): StrategyName {
  const first = learned(rungs, enabled);
  return first !== 'direct' && random() < directAgain ? 'direct' : first;
}
