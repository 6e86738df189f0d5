/** Endpoints of sessions: create, get, update, list and end. */
import { z } from 'zod';
import { boundedList, boundedString } from '../bounds.ts';
import { endpoint } from '../endpoint.ts';
import { pageHeaders, pageQuery, queryBool, sessionParams } from '../fields.ts';
import { CreateSessionRequest, IdleTimeoutSeconds, Metadata, SessionName, TimeoutSeconds } from './session-request.ts';
import { AdminSession, Session, sessionPurposes, sessionStatuses } from './session.ts';
import { storageStateBytesMax } from './storage-state.ts';

export const UpdateSessionRequest = z
  .strictObject({
    timeout_seconds: TimeoutSeconds.optional().describe(
      'Maximum lifetime in seconds, counted from the creation of the session: 30 to 86400, or less if the plan sets a lower maximum.',
    ),
    idle_timeout_seconds: IdleTimeoutSeconds.optional().describe(
      'Seconds after which the session ends if nothing calls it and no DevTools client is connected: 10 to 86400, and at ' +
        'most `timeout_seconds`.',
    ),
    name: SessionName.nullable()
      .optional()
      .describe('New name of the session, 1 to 64 characters, unique among your live sessions; null removes the name.'),
    metadata: Metadata.optional().describe('Metadata of the session. Replaces all existing entries.'),
  })
  .meta({ id: 'UpdateSessionRequest' });
export type UpdateSessionRequest = z.infer<typeof UpdateSessionRequest>;

/** Parses `status=ready,ended`. Unknown statuses are rejected. */
const StatusList = boundedString(0, 200)
  .transform((text) => text.split(','))
  .pipe(boundedList(z.enum(sessionStatuses), 20).min(1));

const statusQuery = StatusList.optional().meta({
  type: 'string',
  examples: ['ready,ended'],
  description: 'Comma-separated list of statuses to include, such as `ready,ended`. Default: all statuses.',
});

/** Rejects unknown keys that do not start with `metadata.`. */
const rejectUnknownKeys = (context: z.core.ParsePayload<Record<string, unknown>>, known: readonly string[]) => {
  for (const key of Object.keys(context.value ?? {}))
    if (!known.includes(key) && !/^metadata\../.test(key))
      context.issues.push({
        code: 'custom',
        message: 'Extra inputs are not permitted',
        path: [key],
        input: context.value[key],
        params: { type: 'extra_forbidden' },
      });
};

export const ListSessionsQuery = z
  .object({
    status: statusQuery,
    purpose: z
      .enum(sessionPurposes)
      .default('session')
      .describe('Only sessions of this purpose: `session`, or `fetch` for the machines that run your fetches. Default: `session`.'),
    name: SessionName.optional().describe('Only sessions with exactly this name.'),
    ...pageQuery,
  })
  .catchall(boundedString(0, 512))
  // Also runs when a known field is invalid, so that all issues are reported at once.
  .check(
    z.core._check(
      (context) =>
        rejectUnknownKeys(context as z.core.ParsePayload<Record<string, unknown>>, ['status', 'purpose', 'name', 'limit', 'cursor']),
      {
        when: () => true,
      },
    ),
  );
export type ListSessionsQuery = z.infer<typeof ListSessionsQuery>;

export const createSession = endpoint({
  id: 'createSession',
  method: 'POST',
  path: '/v1/session',
  tag: 'Sessions',
  summary: 'Create a session',
  description:
    'Starts a browser in its own machine and returns the session. By default the response is sent when the browser ' +
    'is ready; with `wait=false` it is sent at once with `status: starting`. An emulated machine can take two ' +
    'minutes to boot.',
  auth: 'bearer',
  query: z.strictObject({
    wait: queryBool
      .default(true)
      .describe('Whether to wait until the browser is ready. `false` returns at once with `status: starting`. Default: `true`.'),
  }),
  body: CreateSessionRequest,
  bodyLimitBytes: storageStateBytesMax + 1024 * 1024,
  exactTextFields: ['storage_state'],
  reply: Session,
  status: 201,
  errors: [
    'premium_egress_required',
    'region_unavailable',
    'name_taken',
    'profile_not_found',
    'profile_locked',
    'profile_limit_reached',
    'profile_unreadable',
    'session_ended',
    'concurrency_limit',
    'create_rate_limit',
    'no_capacity',
    'draining',
    'store_unavailable',
    'deadline_exceeded',
  ],
  cost: 'session',
  // A cold boot of an emulated machine takes two minutes; then `start_url` is loaded.
  deadlineMs: 180_000,
});

export const getSession = endpoint({
  id: 'getSession',
  method: 'GET',
  path: '/v1/session/{session_id}',
  tag: 'Sessions',
  summary: 'Get a session',
  description:
    'Returns one session. An ended session can be read during its retention period, 24 hours by default. Reading a ' +
    'session does not reset its idle timer.',
  auth: 'bearer',
  params: sessionParams,
  reply: Session,
  status: 200,
  errors: ['session_not_found', 'store_unavailable'],
});

export const updateSession = endpoint({
  id: 'updateSession',
  method: 'PATCH',
  path: '/v1/session/{session_id}',
  tag: 'Sessions',
  summary: 'Update a session',
  description:
    'Changes the timeouts, name or metadata of a live session and returns the session. Fields that are not sent stay as they are.',
  auth: 'bearer',
  params: sessionParams,
  body: UpdateSessionRequest,
  reply: Session,
  status: 200,
  errors: ['session_not_found', 'session_ended', 'name_taken', 'worker_unreachable', 'store_unavailable'],
});

export const endSession = endpoint({
  id: 'endSession',
  method: 'DELETE',
  path: '/v1/session/{session_id}',
  tag: 'Sessions',
  summary: 'End a session',
  description:
    'Ends a session and its browser. The request succeeds again for a session that has already ended, as long as ' +
    'its record is retained.',
  auth: 'bearer',
  params: sessionParams,
  status: 204,
  replyKind: 'empty',
  errors: ['session_not_found', 'worker_unreachable', 'store_unavailable'],
});

export const listSessions = endpoint({
  id: 'listSessions',
  method: 'GET',
  path: '/v1/sessions',
  tag: 'Sessions',
  summary: 'List sessions',
  description:
    'Returns your live and recently ended sessions, newest first, 100 per page by default. Filter by metadata with ' +
    '`metadata.KEY=VALUE` query parameters. The machines of your fetches are listed with `purpose=fetch`.',
  auth: 'bearer',
  query: ListSessionsQuery,
  reply: z.array(Session),
  replyHeaders: pageHeaders,
  status: 200,
  errors: ['store_unavailable'],
});

export const listAllSessions = endpoint({
  id: 'listAllSessions',
  method: 'GET',
  path: '/admin/sessions',
  tag: 'Operators',
  summary: 'List all sessions',
  description: 'Returns the live and recently ended sessions of all owners, newest first, 100 per page by default.',
  auth: 'admin',
  query: z.strictObject({
    status: statusQuery,
    owner: boundedString(1, 64).optional().describe('Only sessions of this owner.'),
    purpose: z.enum(sessionPurposes).optional().describe('Only sessions of this purpose. Default: both.'),
    ...pageQuery,
  }),
  reply: z.array(AdminSession),
  replyHeaders: pageHeaders,
  status: 200,
  errors: ['store_unavailable'],
});

export const endAnySession = endpoint({
  id: 'endAnySession',
  method: 'DELETE',
  path: '/admin/sessions/{session_id}',
  tag: 'Operators',
  summary: 'End any session',
  description:
    'Ends the session of any owner, with `ended_reason: admin`. The request succeeds again for a session that has already ended.',
  auth: 'admin',
  params: sessionParams,
  status: 204,
  replyKind: 'empty',
  errors: ['session_not_found', 'worker_unreachable', 'store_unavailable'],
});
