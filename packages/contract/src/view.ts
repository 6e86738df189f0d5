/** Endpoints of people who watch: links to a session's live view, its window and its recordings. */
import { z } from 'zod';
import { endpoint } from './endpoint.ts';
import { PathId, Timestamp } from './fields.ts';

/** `view` watches, `control` also drives, `recording` opens what was recorded, also when the session is over. */
export const viewScopes = ['view', 'control', 'recording'] as const;
export type ViewScope = (typeof viewScopes)[number];

const TtlSeconds = z.int().min(30).max(3600).default(300).meta({ description: 'How long the link can be opened.' });

export const ViewTokenRequest = z
  .strictObject({
    scope: z.enum(viewScopes).default('view').meta({
      description: '`view` watches, `control` also drives, `recording` opens the session’s recording, also when the session is over.',
    }),
    ttl_seconds: TtlSeconds,
  })
  .meta({ id: 'ViewTokenRequest' });
export type ViewTokenRequest = z.infer<typeof ViewTokenRequest>;

export const VncTokenRequest = z.strictObject({ ttl_seconds: TtlSeconds }).meta({ id: 'VncTokenRequest' });
export type VncTokenRequest = z.infer<typeof VncTokenRequest>;

const grant = {
  token: z.string().nullable().meta({ description: 'In this reply only; null when the reply is replayed, and so is `url`.' }),
  session_id: z.string(),
  url: z
    .string()
    .nullable()
    .meta({ description: 'For a browser: a page that takes the token out of its address and goes on with a cookie.' }),
  expires_at: Timestamp.meta({ description: 'Until when the link can be opened. What is open by then stays open.' }),
  expires_in: z.int().meta({ description: 'In seconds.' }),
};

export const ViewToken = z.object({ ...grant, token_type: z.literal('view'), scope: z.enum(viewScopes) }).meta({ id: 'ViewToken' });
export type ViewTokenResponse = z.infer<typeof ViewToken>;
export const VncToken = z.object({ ...grant, token_type: z.literal('vnc') }).meta({ id: 'VncToken' });
export type VncTokenResponse = z.infer<typeof VncToken>;

const sessionParams = z.object({ session_id: PathId });
const tokenQuery = z.object({
  token: z.string().max(2048).optional().meta({ description: 'Of the first load; then a cookie of this path takes its place.' }),
});

export const createViewToken = endpoint({
  id: 'createViewToken',
  method: 'POST',
  path: '/v1/session/{session_id}/view-token',
  tag: 'Viewing',
  summary: 'A link for watching a session, driving it by hand, or opening its recording',
  description:
    'The link needs no API key. It dies with its time, its session (a `recording` link with the recording), its key, and when links are revoked.',
  auth: 'bearer',
  params: sessionParams,
  body: ViewTokenRequest,
  bodyOptional: true,
  reply: ViewToken,
  status: 200,
  owner: 'session',
  errors: ['session_not_found', 'session_ended', 'recording_not_found', 'store_unavailable'],
  secretReplyFields: ['token', 'url'],
});

export const revokeViewTokens = endpoint({
  id: 'revokeViewTokens',
  method: 'DELETE',
  path: '/v1/session/{session_id}/view-tokens',
  tag: 'Viewing',
  summary: 'Take back every link to a session',
  description: 'All view and VNC tokens of the session stop working, and what was opened by them is closed.',
  auth: 'bearer',
  params: sessionParams,
  status: 204,
  replyKind: 'empty',
  owner: 'session',
  errors: ['session_not_found', 'store_unavailable'],
});

export const openLiveView = endpoint({
  id: 'openLiveView',
  method: 'GET',
  path: '/v1/session/{session_id}/live-view',
  tag: 'Viewing',
  summary: 'The page that shows a session as it happens',
  auth: 'view',
  params: sessionParams,
  query: tokenQuery,
  reply: z.string(),
  replyKind: 'html',
  status: 200,
  owner: 'session',
  errors: ['store_unavailable'],
});

export const watchLiveView = endpoint({
  id: 'watchLiveView',
  method: 'GET',
  path: '/v1/session/{session_id}/live-view/socket',
  tag: 'Viewing',
  summary: 'The live view’s socket',
  description:
    'What the page speaks: frames as binary messages, all else as JSON. For the page of this service; its messages may change between versions.',
  auth: 'view',
  params: sessionParams,
  query: tokenQuery,
  replyKind: 'websocket',
  status: 101,
  owner: 'session',
  errors: ['session_not_ready', 'origin_not_allowed', 'bad_request'],
});

export const createVncToken = endpoint({
  id: 'createVncToken',
  method: 'POST',
  path: '/v1/session/{session_id}/vnc-token',
  tag: 'Viewing',
  summary: 'A link to the full browser window of a `full_browser` session',
  auth: 'bearer',
  params: sessionParams,
  body: VncTokenRequest,
  bodyOptional: true,
  reply: VncToken,
  status: 200,
  owner: 'session',
  errors: ['session_not_found', 'session_ended', 'vnc_unavailable', 'store_unavailable'],
  secretReplyFields: ['token', 'url'],
});

export const openVnc = endpoint({
  id: 'openVnc',
  method: 'GET',
  path: '/v1/session/{session_id}/vnc/{path}',
  tag: 'Viewing',
  summary: 'The files of the window’s page, `vnc.html` first',
  auth: 'vnc',
  params: z.object({ session_id: PathId, path: PathId }),
  query: tokenQuery,
  replyKind: 'bytes',
  status: 200,
  owner: 'session',
  errors: ['asset_not_found', 'store_unavailable'],
});

export const watchVnc = endpoint({
  id: 'watchVnc',
  method: 'GET',
  path: '/v1/session/{session_id}/vnc/websockify',
  tag: 'Viewing',
  summary: 'The window’s socket: RFB, as noVNC speaks it',
  auth: 'vnc',
  params: sessionParams,
  query: tokenQuery,
  replyKind: 'websocket',
  status: 101,
  owner: 'session',
  errors: ['session_not_ready', 'origin_not_allowed', 'bad_request'],
});
