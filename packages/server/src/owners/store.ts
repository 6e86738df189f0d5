import type { Generated } from 'kysely';
import type { Tables } from '../store/store.ts';

interface OwnerTables {
  owners: {
    owner_id: string;
    tier: string;
    created_at: Generated<Date>;
    trial_tier: Generated<string | null>;
    trial_ends_at: Generated<Date | null>;
  };
}

/** The trial may already have ended. */
export interface PlanRecord {
  tier: string;
  trialTier: string | null;
  trialEndsAt: Date | null;
}

const own = (tables: Tables) => tables.tables<OwnerTables>();

export async function readPlan(tables: Tables, owner: string): Promise<PlanRecord | undefined> {
  const row = await own(tables)
    .selectFrom('owners')
    .select(['tier', 'trial_tier', 'trial_ends_at'])
    .where('owner_id', '=', owner)
    .executeTakeFirst();
  return row && { tier: row.tier, trialTier: row.trial_tier, trialEndsAt: row.trial_ends_at };
}

export interface OwnerRecord extends PlanRecord {
  owner: string;
  createdAt: Date;
}

export async function readOwner(tables: Tables, owner: string): Promise<OwnerRecord | undefined> {
  const row = await own(tables)
    .selectFrom('owners')
    .select(['owner_id', 'created_at', 'tier', 'trial_tier', 'trial_ends_at'])
    .where('owner_id', '=', owner)
    .executeTakeFirst();
  return (
    row && { owner: row.owner_id, createdAt: row.created_at, tier: row.tier, trialTier: row.trial_tier, trialEndsAt: row.trial_ends_at }
  );
}

/** Has no effect where the owner exists. */
export async function insertOwner(tables: Tables, owner: string, tier: string): Promise<void> {
  await own(tables)
    .insertInto('owners')
    .values({ owner_id: owner, tier })
    .onConflict((on) => on.column('owner_id').doNothing())
    .execute();
}

export async function updatePlan(tables: Tables, owner: string, { tier, trialTier, trialEndsAt }: Partial<PlanRecord>): Promise<void> {
  const change = { tier, trial_tier: trialTier, trial_ends_at: trialEndsAt };
  await own(tables).updateTable('owners').set(change).where('owner_id', '=', owner).execute();
}

/** Locks the owner's row until the transaction ends. */
export async function lockOwner(tx: Tables, owner: string): Promise<void> {
  await own(tx).selectFrom('owners').select('owner_id').where('owner_id', '=', owner).forUpdate().execute();
}
