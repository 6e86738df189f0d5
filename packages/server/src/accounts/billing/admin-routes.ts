import { createPromoCodes } from '@berth/contract';
import type { Routes } from '../../http/call.ts';
import { actorOf } from '../principals/principals.ts';
import type { Billing } from './billing.ts';

export function mountBillingAdmin(routes: Routes, billing: Billing): void {
  routes.on(createPromoCodes, async ({ principal, body }) => ({
    codes: await billing.promos.create({
      tier: body.tier,
      trialDays: body.trial_days,
      count: body.count,
      expiresInDays: body.expires_in_days,
      actor: actorOf(principal),
    }),
  }));
}
