import { sql, type Generated } from 'kysely';
import type { Tables } from '../../store/store.ts';

interface ProfileTables {
  profiles: {
    profile_id: string;
    owner_id: string;
    name: string;
    content: Buffer | null;
    size_bytes: Generated<number>;
    cookies: Generated<number>;
    origins: Generated<number>;
    version: Generated<number>;
    created_at: Date;
    saved_at: Date | null;
    last_used_at: Date | null;
  };
  profile_writers: { profile_id: string; session_id: string; status: 'starting' | 'ready' | 'ending' };
}

/** A profile without its content. */
export interface Profile {
  profileId: string;
  owner: string;
  name: string;
  sizeBytes: number;
  cookies: number;
  origins: number;
  version: number;
  createdAt: Date;
  savedAt: Date | null;
  lastUsedAt: Date | null;
  /** The session that saves it when it ends, and locks it until then. */
  writer: ProfileWriter | null;
}

export interface ProfileWriter {
  sessionId: string;
  /** It has ended for its caller, and saves the profile now. */
  isEnding: boolean;
}

const own = (tables: Tables) => tables.tables<ProfileTables>();

const withWriters = (tables: Tables) =>
  own(tables)
    .selectFrom('profiles')
    .leftJoin('profile_writers', 'profile_writers.profile_id', 'profiles.profile_id')
    .select([
      'profiles.profile_id',
      'owner_id',
      'name',
      'size_bytes',
      'cookies',
      'origins',
      'version',
      'created_at',
      'saved_at',
      'last_used_at',
    ])
    .select(['session_id', 'status']);

type Row = Awaited<ReturnType<ReturnType<typeof withWriters>['executeTakeFirstOrThrow']>>;

const toProfile = (row: Row): Profile => ({
  profileId: row.profile_id,
  owner: row.owner_id,
  name: row.name,
  sizeBytes: row.size_bytes,
  cookies: row.cookies,
  origins: row.origins,
  version: row.version,
  createdAt: row.created_at,
  savedAt: row.saved_at,
  lastUsedAt: row.last_used_at,
  writer: row.session_id === null ? null : { sessionId: row.session_id, isEnding: row.status === 'ending' },
});

export type ProfileSelector = { owner: string } & ({ id: string } | { name: string });

export async function findProfile(tables: Tables, selector: ProfileSelector): Promise<Profile | undefined> {
  const query = withWriters(tables).where('owner_id', '=', selector.owner);
  const row = await (
    'id' in selector ? query.where('profiles.profile_id', '=', selector.id) : query.where('name', '=', selector.name)
  ).executeTakeFirst();
  return row && toProfile(row);
}

export interface ProfileFilter {
  owner: string;
  /** The last profile of the page before. */
  after?: { createdAt: Date; profileId: string } | undefined;
  limit: number;
}

/** Newest first. */
export async function listProfiles(tables: Tables, { owner, after, limit }: ProfileFilter): Promise<Profile[]> {
  let query = withWriters(tables)
    .where('owner_id', '=', owner)
    .orderBy('created_at', 'desc')
    .orderBy('profiles.profile_id', 'desc')
    .limit(limit);
  if (after) query = query.where(sql<boolean>`(created_at, profiles.profile_id) < (${after.createdAt}, ${after.profileId})`);
  return (await query.execute()).map(toProfile);
}

export async function countProfiles(tables: Tables, owner: string): Promise<number> {
  const { count } = await own(tables)
    .selectFrom('profiles')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('owner_id', '=', owner)
    .executeTakeFirstOrThrow();
  return count;
}

/** How many of all owners have a content, which is encrypted. */
export async function countSavedProfiles(tables: Tables): Promise<number> {
  const { count } = await own(tables)
    .selectFrom('profiles')
    .select(({ fn }) => fn.countAll<string>().as('count'))
    .where('content', 'is not', null)
    .executeTakeFirstOrThrow();
  return Number(count);
}

export async function insertProfile(tables: Tables, profile: Pick<Profile, 'profileId' | 'owner' | 'name' | 'createdAt'>): Promise<void> {
  const { profileId: profile_id, owner: owner_id, name, createdAt: created_at } = profile;
  await own(tables).insertInto('profiles').values({ profile_id, owner_id, name, created_at }).execute();
}

/** A session starts with it. False where it is deleted; until the transaction ends, it cannot be. */
export async function touchProfile(tx: Tables, profileId: string, at: Date): Promise<boolean> {
  const row = await own(tx)
    .updateTable('profiles')
    .set({ last_used_at: at })
    .where('profile_id', '=', profileId)
    .returning('profile_id')
    .executeTakeFirst();
  return row !== undefined;
}

/** Locks the row until the transaction ends, so that no session can start with it. */
export async function lockProfile(tx: Tables, profileId: string): Promise<void> {
  await own(tx).selectFrom('profiles').select('profile_id').where('profile_id', '=', profileId).forUpdate().execute();
}

export async function deleteProfile(tx: Tables, profileId: string): Promise<void> {
  await own(tx).deleteFrom('profiles').where('profile_id', '=', profileId).execute();
}

/** Deletes a profile that was created and last used at that time, and never saved. False where there is none. */
export async function deleteUnusedProfile(tx: Tables, profileId: string, at: Date): Promise<boolean> {
  const row = await own(tx)
    .deleteFrom('profiles')
    .where('profile_id', '=', profileId)
    .where('created_at', '=', at)
    .where('last_used_at', '=', at)
    .where('saved_at', 'is', null)
    .returning('profile_id')
    .executeTakeFirst();
  return row !== undefined;
}

/** undefined: it is deleted; null: nothing was saved yet. */
export async function readContent(tables: Tables, profileId: string): Promise<Buffer | null | undefined> {
  const row = await own(tables).selectFrom('profiles').select('content').where('profile_id', '=', profileId).executeTakeFirst();
  return row?.content;
}

export interface ProfileContent {
  content: Buffer;
  sizeBytes: number;
  cookies: number;
  origins: number;
  savedAt: Date;
}

export async function writeContent(
  tx: Tables,
  profileId: string,
  { content, sizeBytes, cookies, origins, savedAt }: ProfileContent,
): Promise<void> {
  await own(tx)
    .updateTable('profiles')
    .set({ content, size_bytes: sizeBytes, cookies, origins, saved_at: savedAt, version: sql<number>`version + 1` })
    .where('profile_id', '=', profileId)
    .execute();
}
