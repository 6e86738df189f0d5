export interface Interval {
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
