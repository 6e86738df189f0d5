import { hash } from 'node:crypto';
import { grantCredits, createCreditCodes } from '@berth/contract';
import type { Routes } from '../../http/call.ts';
import { actorOf } from '../principals/principals.ts';
import { newId } from '@berth/lib/ids.ts';
import { InsufficientCreditsError, toCredits, toMicro, type Credits, type ReadBalance } from './credits.ts';

export function mountCreditsAdmin(routes: Routes, credits: Credits, readBalance: ReadBalance): void {
  routes.on(grantCredits, async (call) => {
    const { owner, amount, note } = call.body;
    const opId = grantId(call.principal.scope, call.header('idempotency-key'));
    const grant = { opId, owner, amount: toMicro(amount), note, actor: actorOf(call.principal) };
    const { balance } = await credits.grant(grant).catch(async (error: unknown) => {
      throw error instanceof InsufficientCreditsError ? error.withBalance(await readBalance(owner, error.balance)) : error;
    });
    return { owner, granted: amount, balance: toCredits(await readBalance(owner, balance)) };
  });
  routes.on(createCreditCodes, async ({ principal, body }) => {
    const { amount, count, expires_in_days: expiresInDays } = body;
    return { codes: await credits.createCodes({ amount: toMicro(amount), count, expiresInDays, actor: actorOf(principal) }) };
  });
}

/**
 * The operation id of a grant. It is derived from the idempotency key, so a
 * retried grant is applied once even after a crash, without the 24-hour limit
 * of stored responses.
 */
function grantId(scope: string, idempotencyKey: string | undefined): string {
  return `grant:${idempotencyKey === undefined ? newId('opr') : hash('sha256', `${scope}\n${idempotencyKey}`)}`;
}
