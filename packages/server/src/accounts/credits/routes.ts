import { listCreditEntries, redeemCredits } from '@berth/contract';
import type { Routes } from '../../http/call.ts';
import { callerOf, ownerOf } from '../principals/principals.ts';
import { toCredits, type Credits, type ReadBalance } from './credits.ts';
import { toLedgerFilter, toLedgerPage } from './ledger-pages.ts';

export function mountCredits(routes: Routes, credits: Credits, readBalance: ReadBalance): void {
  routes.on(listCreditEntries, async (call) => {
    const { query, principal } = call;
    return toLedgerPage(call, await credits.ledger(toLedgerFilter(ownerOf(principal), query)), query.limit);
  });
  routes.on(redeemCredits, async ({ principal, body }) => {
    const { granted, balance } = await credits.redeem({ ...callerOf(principal), code: body.code });
    return { ok: true as const, granted: toCredits(granted), balance: toCredits(await readBalance(ownerOf(principal), balance)) };
  });
}
