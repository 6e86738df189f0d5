/** Usage in integer units, so that sums are exact. */
export interface Counts {
  actions: number;
  egressBytes: number;
  browserMs: number;
  sessions: number;
  captchaSolves: number;
}

/** Usage as in the API. */
export interface Totals {
  actions: number;
  egress_bytes: number;
  browser_seconds: number;
  sessions: number;
  captcha_solves: number;
}

export const noCounts = (): Counts => ({ actions: 0, egressBytes: 0, browserMs: 0, sessions: 0, captchaSolves: 0 });

export const plus = (one: Counts, other: Counts): Counts => ({
  actions: one.actions + other.actions,
  egressBytes: one.egressBytes + other.egressBytes,
  browserMs: one.browserMs + other.browserMs,
  sessions: one.sessions + other.sessions,
  captchaSolves: one.captchaSolves + other.captchaSolves,
});

export const minus = (one: Counts, other: Counts): Counts => ({
  actions: one.actions - other.actions,
  egressBytes: one.egressBytes - other.egressBytes,
  browserMs: one.browserMs - other.browserMs,
  sessions: one.sessions - other.sessions,
  captchaSolves: one.captchaSolves - other.captchaSolves,
});

/** Adds in place. */
export function raise(sum: Counts, more: Partial<Counts>): void {
  sum.actions += more.actions ?? 0;
  sum.egressBytes += more.egressBytes ?? 0;
  sum.browserMs += more.browserMs ?? 0;
  sum.sessions += more.sessions ?? 0;
  sum.captchaSolves += more.captchaSolves ?? 0;
}

export const isEqual = (one: Counts, other: Counts): boolean =>
  one.actions === other.actions &&
  one.egressBytes === other.egressBytes &&
  one.browserMs === other.browserMs &&
  one.sessions === other.sessions &&
  one.captchaSolves === other.captchaSolves;

/** Browser time is rounded down to whole seconds. */
export const toTotals = (counts: Counts): Totals => ({
  actions: counts.actions,
  egress_bytes: counts.egressBytes,
  browser_seconds: Math.floor(counts.browserMs / 1000),
  sessions: counts.sessions,
  captcha_solves: counts.captchaSolves,
});
