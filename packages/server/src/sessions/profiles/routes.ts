import { deleteProfile, getProfile, listProfiles, type ProfileResponse } from '@berth/contract';
import { z } from 'zod';
import type { Routes } from '../../http/call.ts';
import { ownerOf } from '../../accounts/principals/principals.ts';
import { decodeCursor, pageHeaders } from '../../http/cursor.ts';
import { isId } from '@berth/lib/ids.ts';
import type { Profile, ProfileFilter, Profiles } from './profiles.ts';

export function mountProfiles(routes: Routes, profiles: Profiles): void {
  routes.on(listProfiles, async (call) => {
    const { query, principal } = call;
    const listed = await profiles.list({ owner: ownerOf(principal), after: toPosition(query.cursor), limit: query.limit + 1 });
    const page = pageHeaders(call, listed, query.limit, ({ createdAt, profileId }) => [createdAt.getTime(), profileId]);
    return page.map(toProfile);
  });
  routes.on(getProfile, async ({ params, principal }) => toProfile(await profiles.get(ownerOf(principal), params.profile_id)));
  routes.on(deleteProfile, ({ params, principal }) => profiles.delete(principal, params.profile_id).then(() => undefined));
}

/** The last millisecond of the year 9999, the latest that the database reads. */
const timestampMsMax = 253_402_300_799_999;
const Position = z.tuple([z.int().min(0).max(timestampMsMax), z.string().refine((text) => isId('pro', text))]);

/** @throws ValidationError for an invalid cursor */
function toPosition(cursor: string | undefined): ProfileFilter['after'] {
  if (cursor === undefined) return undefined;
  const [createdMs, profileId] = decodeCursor(cursor, Position);
  return { createdAt: new Date(createdMs), profileId };
}

const toProfile = (profile: Profile): ProfileResponse => ({
  profile_id: profile.profileId,
  object: 'profile',
  name: profile.name,
  created_at: profile.createdAt.toISOString(),
  saved_at: profile.savedAt?.toISOString() ?? null,
  last_used_at: profile.lastUsedAt?.toISOString() ?? null,
  version: profile.version,
  size_bytes: profile.sizeBytes,
  cookies: profile.cookies,
  origins: profile.origins,
  writer_session_id: profile.writer?.sessionId ?? null,
});
