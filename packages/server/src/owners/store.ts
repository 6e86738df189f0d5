import type { Generated } from 'kysely';
import type { Tables } from '../store/store.ts';

interface OwnerTables {
  owners: { owner_id: string; tier: string; created_at: Generated<Date> };
}

export async function readTier(tables: Tables, ownerId: string): Promise<string | undefined> {
  const row = await tables.tables<OwnerTables>().selectFrom('owners').select('tier').where('owner_id', '=', ownerId).executeTakeFirst();
  return row?.tier;
}

/** Makes the owner when it is new; otherwise changes its tier only where one is given. */
export async function upsertOwner(tables: Tables, ownerId: string, tier: { given: string | undefined; default: string }): Promise<void> {
  const owners = tables.tables<OwnerTables>();
  const insert = owners.insertInto('owners').values({ owner_id: ownerId, tier: tier.given ?? tier.default });
  const { given } = tier;
  await insert.onConflict((on) => (given ? on.column('owner_id').doUpdateSet({ tier: given }) : on.column('owner_id').doNothing())).execute();
}

/** Holds the owner's row until the transaction ends: what is counted for an owner is counted one at a time. */
export async function lockOwner(tx: Tables, ownerId: string): Promise<void> {
  await tx.tables<OwnerTables>().selectFrom('owners').select('owner_id').where('owner_id', '=', ownerId).forUpdate().execute();
}
