import { sql, type Generated } from 'kysely';
import type { Tables } from '../../store/store.ts';

interface ForwardingTables {
  fleet_secrets: { name: string; value: string; created_at: Generated<Date> };
}

const secrets = (tables: Tables) => tables.tables<ForwardingTables>();

/** The fleet's secret of this name: `own`, unless another worker has stored one before. */
export async function shareSecret(tables: Tables, name: string, own: string): Promise<string> {
  await secrets(tables)
    .insertInto('fleet_secrets')
    .values({ name, value: own })
    .onConflict((on) => on.column('name').doNothing())
    .execute();
  return (await readSecret(tables, name)) ?? own;
}

export async function readSecret(tables: Tables, name: string): Promise<string | undefined> {
  const row = await secrets(tables).selectFrom('fleet_secrets').select('value').where('name', '=', name).executeTakeFirst();
  return row?.value;
}

/** One compare-and-set. False when another worker has changed the secret meanwhile. */
export async function replaceSecret(tables: Tables, name: string, { from, to }: { from: string; to: string }): Promise<boolean> {
  const row = await secrets(tables)
    .updateTable('fleet_secrets')
    .set({ value: to, created_at: sql<Date>`now()` })
    .where('name', '=', name)
    .where('value', '=', from)
    .returning('name')
    .executeTakeFirst();
  return row !== undefined;
}
