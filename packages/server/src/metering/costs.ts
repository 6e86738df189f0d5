/** Prices in millionths of a credit, always integers. */
import type { CreditsResponse } from '@berth/contract';
import { toCredits } from '../credits/credits.ts';
import type { Counts } from './counts.ts';

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
