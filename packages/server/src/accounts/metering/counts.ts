import type { CreditsResponse } from '@berth/contract';
import { toCredits } from '../credits/credits.ts';

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

export const prices = { action: 10_000, session: 1_000_000, captcha: 1_000_000, egressMegabyte: 200_000 } as const;

const megabyte = 1_000_000n;

/** Rounded down once, on the total bytes of a meter, so partial charges add up to the same sum. */
export const egressMicro = (bytes: number): number => Number((BigInt(bytes) * BigInt(prices.egressMegabyte)) / megabyte);

export const microOf = ({ actions, sessions, captchaSolves, egressBytes }: Omit<Counts, 'browserMs'>): number =>
  actions * prices.action + sessions * prices.session + captchaSolves * prices.captcha + egressMicro(egressBytes);

export const costTable: CreditsResponse['cost'] = {
  action: toCredits(prices.action),
  captcha: toCredits(prices.captcha),
  egress_mb: toCredits(prices.egressMegabyte),
  session: toCredits(prices.session),
};
