export interface Interval {
  least: number;
  most: number;
}

/** Of the normal distribution, for 95 %. */
const z = 1.959964;

/**
 * Wilson's interval: where the true rate lies, given what was seen. Unlike the
 * rate itself it does not call one success out of one a certainty.
 */
export function wilson(successes: number, attempts: number): Interval {
  if (attempts === 0) return { least: 0, most: 1 };
  const rate = successes / attempts;
  const spread = z * z;
  const middle = rate + spread / (2 * attempts);
  const reach = z * Math.sqrt((rate * (1 - rate) + spread / (4 * attempts)) / attempts);
  const whole = 1 + spread / attempts;
  return { least: Math.max(0, (middle - reach) / whole), most: Math.min(1, (middle + reach) / whole) };
}
