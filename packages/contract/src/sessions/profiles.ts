/** Profiles: cookies and storage of browsers that are kept between sessions. */
import { z } from 'zod';
import { boundedString } from '../bounds.ts';
import { endpoint } from '../endpoint.ts';
import { PathId, Timestamp, pageHeaders, pageQuery } from '../fields.ts';

const ProfileName = boundedString(1, 64);

/** Maximum size of one profile, as JSON before it is encrypted. */
export const profileBytesMax = 4 * 1024 * 1024;

/** Which profile a session uses, in requests. */
export const ProfileRequest = z
  .strictObject({
    id: boundedString(1, 64).optional().describe('Id of the profile. Send either `id` or `name`.'),
    name: ProfileName.optional().describe(
      'Name of the profile, 1 to 64 characters. With `save_changes` a profile that does not exist is created. Send either `id` or `name`.',
    ),
    save_changes: z
      .boolean()
      .default(false)
      .describe(
        'Whether the profile is saved when the session ends. One session at a time may, and others may read meanwhile. Default: `false`.',
      ),
  })
  .check((context) => {
    const { id, name } = context.value;
    const addIssue = (path: 'id' | 'name', message: string, type: string) =>
      context.issues.push({ code: 'custom', message, path: [path], input: context.value, params: { type } });
    if (id === undefined && name === undefined) addIssue('name', 'Either `id` or `name` is required', 'missing');
    if (id !== undefined && name !== undefined) addIssue('id', '`name` names the profile. Omit one of the two', 'value_error');
  })
  .meta({ id: 'ProfileRequest' });
export type ProfileRequest = z.infer<typeof ProfileRequest>;

/** The profile of a request for work in a browser. */
export const WorkProfile = ProfileRequest.nullable()
  .default(null)
  .describe(
    'Profile to work with. The work then has a session of its own, which counts as one, ends with it, and saves the profile where ' +
      '`save_changes` asks for it. Not with `session_id`. Default: null, none.',
  );

export const profileSaveStatuses = ['pending', 'saved', 'failed'] as const;
export type ProfileSaveStatus = (typeof profileSaveStatuses)[number];

/** The profile of a session, in responses. */
export const SessionProfile = z
  .object({
    profile_id: z.string().describe('Id of the profile.'),
    name: z.string().describe('Name of the profile.'),
    save_changes: z.boolean().describe('Whether the session saves the profile when it ends.'),
    save_status: z
      .enum(profileSaveStatuses)
      .nullable()
      .describe(
        '`pending` until the session has ended, then `saved`, or `failed` if the profile is as it was before the session; null without `save_changes`.',
      ),
  })
  .meta({ id: 'SessionProfile' });

export const Profile = z
  .object({
    profile_id: z.string().meta({ description: 'Id of the profile.', examples: ['pro_3k2v9q0d7m5x1c8b4n6z2f7h'] }),
    object: z.literal('profile').describe('Always `profile`.'),
    name: z.string().describe('Name of the profile, unique among yours.'),
    created_at: Timestamp.describe('When the profile was created (RFC 3339, UTC).'),
    saved_at: Timestamp.nullable().describe('When the profile was last saved (RFC 3339, UTC); null if it never was, and is empty.'),
    last_used_at: Timestamp.nullable().describe('When a session last started with the profile (RFC 3339, UTC); null if none did.'),
    version: z.int().describe('Number of times the profile has been saved.'),
    size_bytes: z.int().describe('Size of what is kept, in bytes, before compression and encryption. At most 4 MiB.'),
    cookies: z.int().describe('Number of cookies.'),
    origins: z.int().describe('Number of origins with local storage or databases.'),
    writer_session_id: z
      .string()
      .nullable()
      .describe('Id of the session that saves the profile when it ends, and until then locks it; null if none does.'),
  })
  .meta({ id: 'ProfileResponse' });
export type ProfileResponse = z.infer<typeof Profile>;

const profileParams = z.object({ profile_id: PathId.describe('Id of the profile. Its name works as well.') });

export const listProfiles = endpoint({
  id: 'listProfiles',
  method: 'GET',
  path: '/v1/profiles',
  tag: 'Profiles',
  summary: 'List profiles',
  description: 'Returns your profiles without their content, newest first, 100 per page by default. There are at most 100.',
  auth: 'bearer',
  query: z.strictObject(pageQuery),
  reply: z.array(Profile),
  replyHeaders: pageHeaders,
  status: 200,
  errors: ['store_unavailable'],
});

export const getProfile = endpoint({
  id: 'getProfile',
  method: 'GET',
  path: '/v1/profiles/{profile_id}',
  tag: 'Profiles',
  summary: 'Get a profile',
  description: 'Returns one profile: when it was saved and used, and how large it is. Its content is in no response.',
  auth: 'bearer',
  params: profileParams,
  reply: Profile,
  status: 200,
  errors: ['profile_not_found', 'store_unavailable'],
});

export const deleteProfile = endpoint({
  id: 'deleteProfile',
  method: 'DELETE',
  path: '/v1/profiles/{profile_id}',
  tag: 'Profiles',
  summary: 'Delete a profile',
  description: 'Deletes a profile with all that is kept in it. Sessions that only read it continue. One that saves it has to end first.',
  auth: 'bearer',
  params: profileParams,
  status: 204,
  replyKind: 'empty',
  errors: ['profile_not_found', 'profile_locked', 'store_unavailable'],
});
