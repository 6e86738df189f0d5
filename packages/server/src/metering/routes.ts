import { getCredits, getUsage } from '@berth/contract';
import { ownerOf, type Routes } from '../http/call.ts';
import type { Metering } from './metering.ts';

export function mountMetering(routes: Routes, metering: Metering): void {
  routes.on(getUsage, ({ principal }) => metering.usage(ownerOf(principal)));
  routes.on(getCredits, ({ principal }) => metering.credits(ownerOf(principal)));
}
