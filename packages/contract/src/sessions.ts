/** Endpoints of sessions: create, read, change, list, end. */
import { z } from 'zod';
import { endpoint } from './endpoint.ts';
import { PathId, pageHeaders, pageQuery, queryBool } from './fields.ts';
import { CreateSessionRequest, IdleTimeoutSeconds, Metadata, SessionName, TimeoutSeconds } from './session-request.ts';
import { AdminSession, Session, sessionStatuses } from './session.ts';

export const UpdateSessionRequest = z
  .strictObject({
    timeout_seconds: TimeoutSeconds.optional().meta({ description: 'Counted from the session’s creation.' }),
    idle_timeout_seconds: IdleTimeoutSeconds.optional(),
    name: SessionName.nullable().optional(),
    metadata: Metadata.optional().meta({ description: 'Replaces what was there.' }),
  })
  .meta({ id: 'UpdateSessionRequest' });
export type UpdateSessionRequest = z.infer<typeof UpdateSessionRequest>;

/** `status=ready,ended` as a list; an unknown word is a fault. */
const StatusList = z
  .string()
  .transform((text) => text.split(','))
  .pipe(z.array(z.enum(sessionStatuses)).min(1));

const statusQuery = StatusList.optional().meta({ type: 'string', examples: ['ready,ended'], description: 'Comma-separated statuses.' });

/** Other keys than those named must start with `metadata.`. */
const onlyMetadata = (context: z.core.ParsePayload<Record<string, unknown>>, known: readonly string[]) => {
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
  .object({ status: statusQuery, name: SessionName.optional(), ...pageQuery })
  .catchall(z.string().max(512))
  // Also when a known field is wrong: all faults are told at once.
  .check(
    z.core._check(
      (context) => onlyMetadata(context as z.core.ParsePayload<Record<string, unknown>>, ['status', 'name', 'limit', 'cursor']),
      {
        when: () => true,
      },
    ),
  );
export type ListSessionsQuery = z.infer<typeof ListSessionsQuery>;

const sessionParams = z.object({ session_id: PathId });

export const createSession = endpoint({
  id: 'createSession',
  method: 'POST',
  path: '/v1/session',
  tag: 'Sessions',
  summary: 'Start a browser in a machine of its own',
  auth: 'bearer',
  query: z.strictObject({ wait: queryBool.default(true).meta({ description: 'false: answer at once with `status: starting`.' }) }),
  body: CreateSessionRequest,
  reply: Session,
  status: 201,
  errors: [
    'premium_egress_required',
    'name_taken',
    'concurrency_limit',
    'create_rate_limit',
    'no_capacity',
    'draining',
    'store_unavailable',
    'deadline_exceeded',
  ],
  cost: 'session',
  // An emulated machine that is booted cold takes two minutes; then comes what `start_url` loads.
  deadlineMs: 180_000,
});

export const getSession = endpoint({
  id: 'getSession',
  method: 'GET',
  path: '/v1/session/{session_id}',
  tag: 'Sessions',
  summary: 'Read a session',
  auth: 'bearer',
  params: sessionParams,
  reply: Session,
  status: 200,
  owner: 'session',
  errors: ['session_not_found', 'store_unavailable'],
});

export const updateSession = endpoint({
  id: 'updateSession',
  method: 'PATCH',
  path: '/v1/session/{session_id}',
  tag: 'Sessions',
  summary: 'Change a live session’s timers, name or metadata',
  auth: 'bearer',
  params: sessionParams,
  body: UpdateSessionRequest,
  reply: Session,
  status: 200,
  owner: 'session',
  errors: ['session_not_found', 'session_ended', 'name_taken', 'store_unavailable'],
});

export const endSession = endpoint({
  id: 'endSession',
  method: 'DELETE',
  path: '/v1/session/{session_id}',
  tag: 'Sessions',
  summary: 'End a session; again 204 while its record is kept',
  auth: 'bearer',
  params: sessionParams,
  status: 204,
  replyKind: 'empty',
  owner: 'session',
  errors: ['session_not_found', 'store_unavailable'],
});

export const listSessions = endpoint({
  id: 'listSessions',
  method: 'GET',
  path: '/v1/sessions',
  tag: 'Sessions',
  summary: 'Your live sessions and those ended a while ago, newest first',
  description: 'Filter by metadata with `metadata.KEY=VALUE`.',
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
  summary: 'All owners’ sessions, newest first',
  auth: 'admin',
  query: z.strictObject({ status: statusQuery, owner: z.string().min(1).max(64).optional(), ...pageQuery }),
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
  summary: 'End any owner’s session',
  auth: 'admin',
  params: sessionParams,
  status: 204,
  replyKind: 'empty',
  owner: 'session',
  errors: ['session_not_found', 'store_unavailable'],
});
