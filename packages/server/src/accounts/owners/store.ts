import { sql, type Generated, type Selectable } from 'kysely';
import type { Tables } from '../../store/store.ts';

interface OwnerTables {
  owners: {
    owner_id: string;
    tier: string;
    created_at: Generated<Date>;
    trial_tier: Generated<string | null>;
    trial_ends_at: Generated<Date | null>;
    pinned_worker_id: Generated<string | null>;
  };
}

/** The trial may already have ended. */
export interface PlanRecord {
  tier: string;
  trialTier: string | null;
  trialEndsAt: Date | null;
  /** The only worker that takes new work of the owner; null: any. */
  pinnedWorkerId: string | null;
}

const planColumns = ['tier', 'trial_tier', 'trial_ends_at', 'pinned_worker_id'] as const;

const toPlan = (row: Pick<Selectable<OwnerTables['owners']>, (typeof planColumns)[number]>): PlanRecord => ({
  tier: row.tier,
  trialTier: row.trial_tier,
  trialEndsAt: row.trial_ends_at,
  pinnedWorkerId: row.pinned_worker_id,
});

const own = (tables: Tables) => tables.tables<OwnerTables>();

export async function readPlan(tables: Tables, owner: string): Promise<PlanRecord | undefined> {
  const row = await own(tables).selectFrom('owners').select(planColumns).where('owner_id', '=', owner).executeTakeFirst();
  return row && toPlan(row);
}

export interface OwnerRecord extends PlanRecord {
  owner: string;
  createdAt: Date;
}

const toOwner = (row: Selectable<OwnerTables['owners']>): OwnerRecord => ({
  owner: row.owner_id,
  createdAt: row.created_at,
  ...toPlan(row),
});

export async function readOwner(tables: Tables, owner: string): Promise<OwnerRecord | undefined> {
  const row = await own(tables)
    .selectFrom('owners')
    .select(['owner_id', 'created_at', ...planColumns])
    .where('owner_id', '=', owner)
    .executeTakeFirst();
  return row && toOwner(row);
}

export interface OwnerFilter {
  /** Part of the id, in upper or lower case. */
  search?: string | undefined;
  tier?: string | undefined;
  pinnedWorkerId?: string | undefined;
  /** The last owner of the page before. */
  after?: string | undefined;
  limit: number;
}

/** Sorted by id. */
export async function listOwners(tables: Tables, { search, tier, pinnedWorkerId, after, limit }: OwnerFilter): Promise<OwnerRecord[]> {
  let query = own(tables)
    .selectFrom('owners')
    .select(['owner_id', 'created_at', ...planColumns])
    .orderBy('owner_id')
    .limit(limit);
  if (search !== undefined) query = query.where(sql<boolean>`strpos(lower(owner_id), lower(${search})) > 0`);
  if (tier !== undefined) query = query.where('tier', '=', tier);
  if (pinnedWorkerId !== undefined) query = query.where('pinned_worker_id', '=', pinnedWorkerId);
  if (after !== undefined) query = query.where('owner_id', '>', after);
  return (await query.execute()).map(toOwner);
}

/** Number of owners by the tier that is stored. */
export async function countByTier(tables: Tables): Promise<Map<string, number>> {
  const rows = await own(tables)
    .selectFrom('owners')
    .select(({ fn }) => ['tier', fn.countAll<number>().as('count')])
    .groupBy('tier')
    .execute();
  return new Map(rows.map(({ tier, count }) => [tier, count]));
}

/** Has no effect where the owner exists. */
export async function insertOwner(tables: Tables, owner: string, tier: string): Promise<void> {
  await own(tables)
    .insertInto('owners')
    .values({ owner_id: owner, tier })
    .onConflict((on) => on.column('owner_id').doNothing())
    .execute();
}

export async function updatePlan(tables: Tables, owner: string, plan: Partial<PlanRecord>): Promise<void> {
  const { tier, trialTier, trialEndsAt, pinnedWorkerId } = plan;
  const change = { tier, trial_tier: trialTier, trial_ends_at: trialEndsAt, pinned_worker_id: pinnedWorkerId };
  await own(tables).updateTable('owners').set(change).where('owner_id', '=', owner).execute();
}

/** Locks the owner's row until the transaction ends. */
export async function lockOwner(tx: Tables, owner: string): Promise<void> {
  await own(tx).selectFrom('owners').select('owner_id').where('owner_id', '=', owner).forUpdate().execute();
}

/** The plans of those owners that exist. */
export async function readPlans(tables: Tables, owners: readonly string[]): Promise<Map<string, PlanRecord>> {
  const rows = await own(tables)
    .selectFrom('owners')
    .select(['owner_id', ...planColumns])
    .where('owner_id', '=', sql<string>`any(${owners})`)
    .execute();
  return new Map(rows.map((row) => [row.owner_id, toPlan(row)]));
}
