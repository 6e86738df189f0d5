import { redeemCredits } from '@berth/contract';
import { callerOf, type Routes } from '../http/call.ts';
import { toCredits, type Credits } from './credits.ts';

export function mountCredits(routes: Routes, credits: Credits): void {
  routes.on(redeemCredits, async ({ principal, body }) => {
    const { granted, balance } = await credits.redeem({ ...callerOf(principal), code: body.code });
    return { ok: true as const, granted: toCredits(granted), balance: toCredits(balance) };
  });
}
