/** Chooses the first strategy by past success. */
import type { StrategyName } from '@berth/contract';
import { attemptsToKnow, type Recent, type StrategyStats } from './site.ts';
import { wilson, type Interval } from './wilson.ts';

/** How often `direct` is used although another strategy does better, because sites change. */
export const directAgain = 0.05;

export const scoreOf = (recent: Recent): Interval => wilson(recent.filter(([, outcome]) => outcome === 'ok').length, recent.length);

interface Scored {
  strategy: StrategyName;
  score: Interval;
}

const best = (strategyStats: readonly StrategyStats[]): Scored | undefined =>
  strategyStats
    .map(({ strategy, recent }) => ({ strategy, score: scoreOf(recent) }))
    .toSorted((one, other) => other.score.lower - one.score.lower)
    .at(0);

/** The strategy with the best score; null without attempts. */
export const bestOf = (strategyStats: readonly StrategyStats[]): StrategyName | null => best(strategyStats)?.strategy ?? null;

/**
 * `direct`, unless another strategy is clearly better: its lower bound is above
 * the upper bound of `direct`. `human` never comes first, because it is the most
 * expensive.
 */
export function learnedStrategy(strategyStats: readonly StrategyStats[], enabled: readonly StrategyName[]): StrategyName {
  const attempts = strategyStats.reduce((sum, { recent }) => sum + recent.length, 0);
  if (attempts < attemptsToKnow) return 'direct';
  const direct = scoreOf(strategyStats.find(({ strategy }) => strategy === 'direct')?.recent ?? []);
  const other = best(strategyStats.filter(({ strategy }) => strategy !== 'direct' && strategy !== 'human' && enabled.includes(strategy)));
  return other && other.score.lower > direct.upper ? other.strategy : 'direct';
}

/** The learned strategy, but sometimes `direct`. */
export function chooseFirstStrategy(
  strategyStats: readonly StrategyStats[],
  enabled: readonly StrategyName[],
  random: () => number,
): StrategyName {
  const first = learnedStrategy(strategyStats, enabled);
  return first !== 'direct' && random() < directAgain ? 'direct' : first;
}
