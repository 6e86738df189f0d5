/** Endpoints of the live view and VNC: links, pages and WebSockets. */
import { z } from 'zod';
import { boundedString } from '../bounds.ts';
import { endpoint } from '../endpoint.ts';
import { PathId, Timestamp, sessionParams } from '../fields.ts';

export const viewScopes = ['view', 'control', 'recording'] as const;
export type ViewScope = (typeof viewScopes)[number];

const TtlSeconds = z.int().min(30).max(3600).default(300).describe('Seconds for which the link can be opened, 30 to 3600. Default: 300.');

export const ViewTokenRequest = z
  .strictObject({
    scope: z
      .enum(viewScopes)
      .optional()
      .describe(
        'What the link allows. `view`: watch. `control`: also send input. `recording`: open the session’s recording, ' +
          'also after the session has ended. Default: `view`; for an ended session with a recording, `recording`.',
      ),
    ttl_seconds: TtlSeconds,
  })
  .meta({ id: 'ViewTokenRequest' });
export type ViewTokenRequest = z.infer<typeof ViewTokenRequest>;

export const VncTokenRequest = z.strictObject({ ttl_seconds: TtlSeconds }).meta({ id: 'VncTokenRequest' });
export type VncTokenRequest = z.infer<typeof VncTokenRequest>;

const tokenFields = {
  token: z.string().nullable().describe('The token. It is returned once: null in a replayed response, as is `url`.'),
  session_id: z.string().describe('Id of the session.'),
  url: z
    .string()
    .nullable()
    .describe(
      'Link to open in a browser; null in a replayed response. The page removes the token from its address and ' +
        'continues with a cookie.',
    ),
  expires_at: Timestamp.describe('When the link can no longer be opened (RFC 3339, UTC). Views that are open stay open.'),
  expires_in: z.int().describe('Seconds until the link can no longer be opened.'),
};

export const ViewToken = z
  .object({
    ...tokenFields,
    token_type: z.literal('view').describe('Always `view`.'),
    scope: z.enum(viewScopes).describe('What the link allows.'),
  })
  .meta({ id: 'ViewTokenResponse' });
export type ViewTokenResponse = z.infer<typeof ViewToken>;
export const VncToken = z
  .object({ ...tokenFields, token_type: z.literal('vnc').describe('Always `vnc`.') })
  .meta({ id: 'VncTokenResponse' });
export type VncTokenResponse = z.infer<typeof VncToken>;

const tokenQuery = z.strictObject({
  token: boundedString(0, 2048)
    .optional()
    .describe('Token of the link, for the first request. Later requests use the cookie that the first one sets.'),
});
/** Query of an address that people open. Parameters that mail and chat programs add, such as `utm_source`, are ignored. */
const linkQuery = tokenQuery.strip();

export const createViewToken = endpoint({
  id: 'createViewToken',
  method: 'POST',
  path: '/v1/session/{session_id}/view-token',
  tag: 'Viewing',
  summary: 'Create a view token',
  description:
    'Creates a link to watch a session, to control it in an interactive live view, or to open its recording. The ' +
    'link works without an API key. It stops working when it expires, when the session ends (for `recording`: when ' +
    'the recording is deleted), when your API key is revoked, or when view tokens are revoked.',
  auth: 'bearer',
  params: sessionParams,
  body: ViewTokenRequest,
  bodyOptional: true,
  reply: ViewToken,
  status: 200,
  errors: ['session_not_found', 'session_ended', 'recording_not_found', 'store_unavailable'],
  secretReplyFields: ['token', 'url'],
});

export const revokeViewTokens = endpoint({
  id: 'revokeViewTokens',
  method: 'DELETE',
  path: '/v1/session/{session_id}/view-tokens',
  tag: 'Viewing',
  summary: 'Revoke all view and VNC tokens',
  description:
    'Revokes all view and VNC tokens of the session and closes the connections that were opened with them. New ' +
    'tokens can be created afterwards.',
  auth: 'bearer',
  params: sessionParams,
  status: 204,
  replyKind: 'empty',
  errors: ['session_not_found', 'store_unavailable'],
});

export const openLiveView = endpoint({
  id: 'openLiveView',
  method: 'GET',
  path: '/v1/session/{session_id}/live-view',
  tag: 'Viewing',
  summary: 'Open the live view',
  description:
    'Returns the web page that shows the session live. With a token of the scope `control` it also accepts mouse and keyboard input.',
  auth: 'view',
  params: sessionParams,
  query: linkQuery,
  reply: z.string(),
  replyKind: 'html',
  status: 200,
  errors: ['store_unavailable'],
});

export const watchLiveView = endpoint({
  id: 'watchLiveView',
  method: 'GET',
  path: '/v1/session/{session_id}/live-view/socket',
  tag: 'Viewing',
  summary: 'Open the live view connection',
  description:
    'Opens the WebSocket of the live view page, with frames as binary messages and everything else as JSON. It is ' +
    'meant for the page of this service: its messages may change between versions.',
  auth: 'view',
  params: sessionParams,
  query: tokenQuery,
  replyKind: 'websocket',
  status: 101,
  errors: ['session_not_ready', 'origin_not_allowed', 'bad_request'],
});

export const saveLiveViewDownload = endpoint({
  id: 'saveLiveViewDownload',
  method: 'GET',
  path: '/v1/session/{session_id}/live-view/downloads/{download_id}',
  tag: 'Viewing',
  summary: 'Download a file from the live view',
  description:
    'Returns the bytes of a file that a page of the session has downloaded, to a person whose link has the scope ' +
    '`control`. Programs use `GET /v1/session/{session_id}/downloads/{download_id}`.',
  auth: 'view',
  params: sessionParams.extend({ download_id: PathId.describe('Id of the download.') }),
  query: tokenQuery,
  replyKind: 'bytes',
  replyHeaders: { 'Content-Disposition': 'Always `attachment`, with the file name that the site suggests.' },
  status: 200,
  errors: ['download_not_found', 'download_not_ready', 'store_unavailable', 'deadline_exceeded'],
  deadlineMs: 300_000,
});

export const createVncToken = endpoint({
  id: 'createVncToken',
  method: 'POST',
  path: '/v1/session/{session_id}/vnc-token',
  tag: 'Viewing',
  summary: 'Create a VNC token',
  description:
    'Creates a link to the full browser window of a `full_browser` session. The link works without an API key, and ' +
    'accepts mouse and keyboard input.',
  auth: 'bearer',
  params: sessionParams,
  body: VncTokenRequest,
  bodyOptional: true,
  reply: VncToken,
  status: 200,
  errors: ['session_not_found', 'session_ended', 'vnc_unavailable', 'store_unavailable'],
  secretReplyFields: ['token', 'url'],
});

export const openVnc = endpoint({
  id: 'openVnc',
  method: 'GET',
  path: '/v1/session/{session_id}/vnc/{path}',
  tag: 'Viewing',
  summary: 'Get a VNC client file',
  description: 'Returns a file of the web client that shows the browser window. Start with `vnc.html`, which an empty path returns, too.',
  auth: 'vnc',
  params: sessionParams.extend({ path: PathId.describe('Path of the file, such as `vnc.html`.') }),
  isPathOpen: true,
  query: linkQuery,
  replyKind: 'bytes',
  status: 200,
  errors: ['asset_not_found', 'store_unavailable'],
});

export const watchVnc = endpoint({
  id: 'watchVnc',
  method: 'GET',
  path: '/v1/session/{session_id}/vnc/websockify',
  tag: 'Viewing',
  summary: 'Open the VNC connection',
  description: 'Opens the WebSocket of the VNC client. It carries the RFB protocol in binary messages, as noVNC expects.',
  auth: 'vnc',
  params: sessionParams,
  query: tokenQuery,
  replyKind: 'websocket',
  status: 101,
  errors: ['session_not_ready', 'origin_not_allowed', 'bad_request'],
});
