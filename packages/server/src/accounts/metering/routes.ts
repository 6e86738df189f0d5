import { getCredits, getUsage } from '@berth/contract';
import type { Routes } from '../../http/call.ts';
import { ownerOf } from '../principals/principals.ts';
import type { Metering } from './metering.ts';

export function mountMetering(routes: Routes, metering: Metering): void {
  routes.on(getUsage, async ({ principal, query }) => {
    const owner = ownerOf(principal);
    const usage = await metering.usage(owner);
    return query.days === undefined ? usage : { ...usage, days: await metering.usageByDay(owner, query.days) };
  });
  routes.on(getCredits, ({ principal }) => metering.credits(ownerOf(principal)));
}
