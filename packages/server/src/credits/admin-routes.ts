import { grantCredits, makeCreditCodes } from '@berth/contract';
import { actorOf, type Routes } from '../http/call.ts';
import { toCredits, toMicro, type Credits } from './credits.ts';
import { grantId } from './grant-id.ts';

export function mountCreditsAdmin(routes: Routes, credits: Credits): void {
  routes.on(grantCredits, async (call) => {
    const { owner, amount, note } = call.body;
    const opId = grantId(call.principal.scope, call.header('idempotency-key'));
    const { balance } = await credits.grant({ opId, owner, amount: toMicro(amount), note, actor: actorOf(call.principal) });
    return { owner, granted: amount, balance: toCredits(balance) };
  });
  routes.on(makeCreditCodes, async ({ principal, body }) => {
    const { amount, count, expires_in_days: expiresInDays } = body;
    return { codes: await credits.createCodes({ amount: toMicro(amount), count, expiresInDays, actor: actorOf(principal) }) };
  });
}
