/** Chooses the first strategy by past success. */
import type { StrategyName } from '@berth/contract';
import { attemptsToKnow, type Recent, type StrategyStats } from './site.ts';

/** How often `direct` is used although another strategy does better, because sites change. */
const directAgain = 0.05;

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

interface Interval {
  lower: number;
  upper: number;
}

/** The 95 % quantile of the normal distribution, two-sided. */
const z = 1.959964;

/**
 * The Wilson score interval of a success rate. Unlike the rate itself it does
 * not treat one success out of one as certain.
 */
export function wilson(successes: number, attempts: number): Interval {
  if (attempts === 0) return { lower: 0, upper: 1 };
  const rate = successes / attempts;
  const spread = z * z;
  const middle = rate + spread / (2 * attempts);
  const reach = z * Math.sqrt((rate * (1 - rate) + spread / (4 * attempts)) / attempts);
  const whole = 1 + spread / attempts;
  return { lower: Math.max(0, (middle - reach) / whole), upper: Math.min(1, (middle + reach) / whole) };
}
