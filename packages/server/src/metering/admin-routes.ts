import { ServiceError, getOwner } from '@berth/contract';
import type { Routes } from '../http/call.ts';
import type { Owners } from '../owners/owners.ts';
import type { Metering } from './metering.ts';

export function mountMeteringAdmin(routes: Routes, owners: Owners, metering: Metering): void {
  routes.on(getOwner, async ({ params }) => {
    const record = await owners.find(params.owner);
    if (!record) throw new ServiceError('owner_not_found', 'No such owner. Owners are created with their first API key or credits.');
    const { owner, createdAt, tier, trialTier, trialEndsAt } = record;
    const [usage, credits] = await Promise.all([metering.usage(owner), metering.credits(owner)]);
    const plan = { tier, trial_tier: trialTier, trial_ends_at: trialEndsAt?.toISOString() ?? null };
    return { owner, created_at: createdAt.toISOString(), plan, usage, credits };
  });
}
