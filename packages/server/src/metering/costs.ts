/** What things cost, in millionths of a credit: whole numbers throughout. */
import type { CreditsResponse } from '@berth/contract';
import { toCredits } from '../credits/credits.ts';
import type { Counts } from './counts.ts';

export const prices = { action: 10_000, session: 1_000_000, captcha: 1_000_000, egressMegabyte: 200_000 } as const;

const megabyte = 1_000_000n;

/** By the byte, and rounded down once, on all of a meter's bytes: what is charged bit by bit sums up to the same. */
export const egressMicro = (bytes: number): number => Number((BigInt(bytes) * BigInt(prices.egressMegabyte)) / megabyte);

export const microOf = ({ actions, sessions, captchaSolves, egressBytes }: Omit<Counts, 'browserMs'>): number =>
  actions * prices.action + sessions * prices.session + captchaSolves * prices.captcha + egressMicro(egressBytes);

export const costTable: CreditsResponse['cost'] = {
  action: toCredits(prices.action),
  captcha: toCredits(prices.captcha),
  egress_mb: toCredits(prices.egressMegabyte),
  session: toCredits(prices.session),
};
