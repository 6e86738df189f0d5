import {
  OwnerId,
  ServiceError,
  getOwner,
  listOwners,
  listPlans,
  pinOwner,
  unpinOwner,
  updateOwner,
  type OwnerItemResponse,
  type OwnerResponse,
  type PlanResponse,
} from '@berth/contract';
import { z } from 'zod';
import type { Routes } from '../../http/call.ts';
import { actorOf, type Principal } from '../principals/principals.ts';
import { decodeCursor, pageHeaders } from '../../http/cursor.ts';
import type { Owners, Tier } from '../owners/owners.ts';
import type { Metering } from './metering.ts';

/** Ends with the last owner of a page. */
const CursorPosition = z.tuple([OwnerId]);

interface OwnerDeps {
  owners: Owners;
  metering: Metering;
  /** @throws ServiceError worker_not_found; ValidationError where a pin to this worker would not hold */
  checkPin: (workerId: string) => Promise<void>;
}

export function mountMeteringAdmin(routes: Routes, { owners, metering, checkPin }: OwnerDeps): void {
  const read = async (id: string): Promise<OwnerResponse> => {
    const record = await owners.find(id);
    if (!record) throw ownerNotFound();
    const [usage, balance] = await Promise.all([metering.usage(record.owner), metering.credits(record.owner)]);
    return {
      owner: record.owner,
      created_at: record.createdAt.toISOString(),
      plan: toPlan(record),
      pinned_worker_id: record.pinnedWorkerId,
      usage,
      credits: balance,
    };
  };
  routes.on(getOwner, ({ params }) => read(params.owner));
  routes.on(updateOwner, async ({ params, body, principal }) => {
    if (!(await owners.assign(params.owner, body.tier, actorOf(principal)))) throw ownerNotFound();
    return read(params.owner);
  });
  const pin = async (owner: string, workerId: string | null, principal: Principal): Promise<OwnerResponse> => {
    if (!(await owners.pin(owner, workerId, actorOf(principal)))) throw ownerNotFound();
    return read(owner);
  };
  routes.on(pinOwner, async ({ params, body: { worker_id: workerId }, principal }) => {
    await checkPin(workerId);
    return pin(params.owner, workerId, principal);
  });
  routes.on(unpinOwner, ({ params, principal }) => pin(params.owner, null, principal));
  routes.on(listOwners, async (call) => {
    const { limit, cursor, pinned_worker_id: pinnedWorkerId, ...filter } = call.query;
    const [after] = cursor === undefined ? [undefined] : decodeCursor(cursor, CursorPosition);
    const records = await owners.list({ ...filter, pinnedWorkerId, after, limit: limit + 1 });
    const page = pageHeaders(call, records, limit, ({ owner }) => [owner]);
    const balances = await metering.balances(page.map(({ owner }) => owner));
    return page.map((record): OwnerItemResponse => ({
      owner: record.owner,
      created_at: record.createdAt.toISOString(),
      tier: record.effectiveTier,
      plan: toPlan(record),
      pinned_worker_id: record.pinnedWorkerId,
      balance: balances.get(record.owner) ?? 0,
    }));
  });
  routes.on(listPlans, async () =>
    (await owners.countByTier()).map(({ tier, owners: count }) => toPlanResponse(tier, count, owners.tiers.default)),
  );
}

const ownerNotFound = (): ServiceError =>
  new ServiceError('owner_not_found', 'No such owner. Owners are created with their first API key or credits.');

const toPlan = ({ tier, trialTier, trialEndsAt }: { tier: string; trialTier: string | null; trialEndsAt: Date | null }) => ({
  tier,
  trial_tier: trialTier,
  trial_ends_at: trialEndsAt?.toISOString() ?? null,
});

const toPlanResponse = (tier: Tier, owners: number, defaultTier: string): PlanResponse => ({
  tier: tier.name,
  default: tier.name === defaultTier,
  concurrency_limit: tier.concurrency_limit,
  creates_per_minute: tier.creates_per_minute,
  requests_per_minute: tier.requests_per_minute,
  max_session_seconds: tier.max_session_seconds,
  tab_limit: tier.tab_limit,
  premium_egress: tier.premium_egress,
  recording_retention_days: tier.recording_retention_days,
  job_weight: tier.job_weight,
  limits: tier.limits,
  overage_allowed: tier.overage_allowed,
  enforced: tier.enforced,
  owners,
});
