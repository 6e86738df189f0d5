import type { Tables } from '../store/store.ts';

interface InstallationTables {
  installation: { installation_id: string };
}

/** The id of this database, under which its objects are stored. A restored backup has the same. */
export async function installationOf(tables: Tables): Promise<string> {
  const row = await tables.tables<InstallationTables>().selectFrom('installation').select('installation_id').executeTakeFirstOrThrow();
  return row.installation_id;
}
