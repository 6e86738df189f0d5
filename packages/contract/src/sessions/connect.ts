/** Endpoints for DevTools clients: the address that creates a session, a session's own, and their discovery. */
import { z } from 'zod';
import { boundedString } from '../bounds.ts';
import { CreateSessionQuery } from './create-query.ts';
import { endpoint } from '../endpoint.ts';
import { PathId, Timestamp, queryInt, sessionParams } from '../fields.ts';
import { sessionStatuses } from './session.ts';

export const ConnectInfo = z
  .object({
    session_id: z.string().describe('Id of the session.'),
    status: z.enum(sessionStatuses).describe('Status of the session.'),
    cdp_url: z
      .string()
      .describe('DevTools WebSocket URL including the token, for `connectOverCDP` of Playwright and `browserWSEndpoint` of Puppeteer.'),
    cdp_http_url: z.string().describe('HTTP address of the DevTools endpoint, for `connectOverCDP` with an `Authorization` header.'),
    token: z.string().describe('The token of this session. It is short-lived: see `expires_at`.'),
    token_type: z.literal('connect').describe('Always `connect`.'),
    expires_at: Timestamp.describe(
      'When the token can no longer open connections (RFC 3339, UTC). A connection that is open stays open until the session ends.',
    ),
    protocol: z.string().describe('Version of the DevTools protocol.'),
    browser: z.string().describe('Product name and version of the browser.'),
    snippets: z
      .object({ playwright: z.string().describe('Code for Playwright.'), puppeteer: z.string().describe('Code for Puppeteer.') })
      .describe('Code that connects to the session.'),
  })
  .meta({ id: 'ConnectResponse' });
export type ConnectInfo = z.infer<typeof ConnectInfo>;

export const connectSession = endpoint({
  id: 'connectSession',
  method: 'GET',
  path: '/v1/session/{session_id}/connect',
  tag: 'Connect',
  summary: 'Get connection details',
  description:
    'Returns a DevTools address and a short-lived token with which Playwright, Puppeteer or another DevTools ' +
    'client connects to the session.',
  auth: 'bearer',
  params: sessionParams,
  reply: ConnectInfo,
  status: 200,
  errors: ['session_not_found', 'session_not_ready', 'session_ended', 'store_unavailable'],
});

/** Close codes of the DevTools WebSocket by close reason. */
export const closeCodes = {
  session_ended: 4000,
  idle_timeout: 4001,
  max_lifetime: 4002,
  unauthorized: 4003,
  browser_crashed: 4008,
  limit: 4009,
  credits_exhausted: 4010,
  service_restart: 1012,
} as const;
export type CloseReason = keyof typeof closeCodes;

const connectQuery = z.strictObject({
  token: boundedString(0, 2048)
    .optional()
    .describe('Token of the session, or the connect token that created it. API keys are not accepted in URLs.'),
});

export const openConnect = endpoint({
  id: 'openConnect',
  method: 'GET',
  path: '/v1/connect',
  tag: 'Connect',
  summary: 'Create a session by connecting',
  description:
    'Creates a session and opens its DevTools WebSocket, with an API key in the header or a connect token in `token`. ' +
    'The options of `POST /v1/session` are query parameters: also `metadata.KEY=VALUE` and `extra_headers.NAME=VALUE`. ' +
    'The session ends with its last connection, unless `keep_alive=true`. With `reconnect_seconds` it stays for that ' +
    'long, and whoever connects to the same address meanwhile finds its browser. Refusals are HTTP responses before the handshake.',
  auth: 'connect',
  query: CreateSessionQuery,
  status: 101,
  replyKind: 'websocket',
  errors: [
    'premium_egress_required',
    'origin_not_allowed',
    'name_taken',
    'profile_not_found',
    'profile_locked',
    'profile_limit_reached',
    'profile_unreadable',
    'session_ended',
    'concurrency_limit',
    'create_rate_limit',
    'no_capacity',
    'bad_request',
  ],
  cost: 'session',
  // As long as a session may take to start.
  deadlineMs: 180_000,
});

export const openCdp = endpoint({
  id: 'openCdp',
  method: 'GET',
  path: '/v1/session/{session_id}/cdp',
  tag: 'Connect',
  summary: 'Open a DevTools connection',
  description: `Opens a WebSocket that carries the Chrome DevTools Protocol. The service closes it with ${Object.entries(closeCodes)
    .map(([reason, code]) => `${code} \`${reason}\``)
    .join(', ')}.`,
  auth: 'connect',
  params: sessionParams,
  query: connectQuery,
  status: 101,
  replyKind: 'websocket',
  errors: ['session_not_found', 'session_not_ready', 'session_ended', 'origin_not_allowed', 'bad_request'],
});

/** Close codes of a tunnel's WebSocket by close reason. */
export const tunnelCloseCodes = { ...closeCodes, bad_message: 1002, replaced: 4012 } as const;
export type TunnelCloseReason = keyof typeof tunnelCloseCodes;

export const openTunnel = endpoint({
  id: 'openTunnel',
  method: 'GET',
  path: '/v1/session/{session_id}/tunnel',
  tag: 'Connect',
  summary: 'Open a tunnel to a port of your computer',
  description:
    'Opens a WebSocket over which the session’s browser reaches a port of the caller’s computer as `http://localhost:PORT`. ' +
    'Its binary messages carry HTTP/2: the caller is the server, and each connection of the browser is a CONNECT. ' +
    '`berth tunnel PORT` does this. Another tunnel to the same port replaces it (4012 `replaced`); a session has at most eight.',
  auth: 'bearer',
  params: sessionParams,
  query: z.strictObject({ port: queryInt(1, 65_535).describe('Port that the browser uses, 1 to 65535.') }),
  status: 101,
  replyKind: 'websocket',
  errors: ['session_not_found', 'session_not_ready', 'session_ended', 'origin_not_allowed', 'bad_request', 'store_unavailable'],
});

const CdpVersion = z
  .object({
    Browser: z.string().describe('Product name and version of the browser.'),
    'Protocol-Version': z.string().describe('Version of the DevTools protocol.'),
    'User-Agent': z.string().describe('User agent of the browser.'),
    'V8-Version': z.string().describe('Version of the JavaScript engine.'),
    'WebKit-Version': z.string().describe('Version of the rendering engine.'),
    webSocketDebuggerUrl: z.string().describe('DevTools WebSocket URL of the browser.'),
  })
  .meta({ id: 'CdpVersionResponse' });
export type CdpVersionResponse = z.infer<typeof CdpVersion>;

const CdpTarget = z
  .object({
    id: z.string().describe('Id of the target.'),
    type: z.string().describe('Type of the target, such as `page`.'),
    title: z.string().describe('Title of the page.'),
    url: z.string().describe('URL of the page.'),
    description: z.string().describe('Description of the target; usually empty.'),
    webSocketDebuggerUrl: z.string().describe('DevTools WebSocket URL for this target.'),
  })
  .meta({ id: 'CdpTargetResponse' });
export type CdpTargetResponse = z.infer<typeof CdpTarget>;

const cdpErrors = ['session_not_found', 'session_not_ready', 'session_ended', 'store_unavailable'] as const;

export const cdpVersion = endpoint({
  id: 'cdpVersion',
  method: 'GET',
  path: '/v1/session/{session_id}/cdp/json/version',
  tag: 'Connect',
  summary: 'Get the browser version',
  description:
    'Returns the browser’s version and its DevTools WebSocket URL, in the format of DevTools’ own `/json/version`. ' +
    'DevTools clients call it to discover the browser.',
  auth: 'connect',
  params: sessionParams,
  query: connectQuery,
  reply: CdpVersion,
  status: 200,
  errors: cdpErrors,
});

export const cdpList = endpoint({
  id: 'cdpList',
  method: 'GET',
  path: '/v1/session/{session_id}/cdp/json/list',
  tag: 'Connect',
  summary: 'List DevTools targets',
  description: 'Returns the open pages of the session, in the format of DevTools’ own `/json/list`.',
  auth: 'connect',
  params: sessionParams,
  query: connectQuery,
  reply: z.array(CdpTarget),
  status: 200,
  errors: cdpErrors,
});

export const cdpProtocol = endpoint({
  id: 'cdpProtocol',
  method: 'GET',
  path: '/v1/session/{session_id}/cdp/json/protocol',
  tag: 'Connect',
  summary: 'Get the DevTools protocol',
  description:
    'Returns the definition of the DevTools protocol that the browser supports, in the format of DevTools’ own `/json/protocol`.',
  auth: 'connect',
  params: sessionParams,
  query: connectQuery,
  reply: z.object({
    version: z
      .object({ major: z.string().describe('Major version.'), minor: z.string().describe('Minor version.') })
      .describe('Version of the protocol.'),
    domains: z.array(z.unknown()).describe('Domains of the protocol, each with its commands, events and types.'),
  }),
  status: 200,
  errors: cdpErrors,
});

const discovery = {
  version:
    'Returns a browser version in the format of DevTools’ own `/json/version`, with the WebSocket URL that creates a ' +
    'session. The query parameters of `GET /v1/connect` become part of that URL. No session is created.',
  list:
    'Returns the open pages of live sessions in the format of DevTools’ own `/json/list`: with an API key those of all ' +
    'your sessions, with a connect token those of the sessions that it created.',
};

export const discoverVersion = endpoint({
  id: 'discoverVersion',
  method: 'GET',
  path: '/json/version',
  tag: 'Connect',
  summary: 'Get the address that creates a session',
  description: discovery.version,
  auth: 'connect',
  query: CreateSessionQuery,
  reply: CdpVersion,
  status: 200,
  errors: ['store_unavailable'],
});

export const discoverTargets = endpoint({
  id: 'discoverTargets',
  method: 'GET',
  path: '/json/list',
  tag: 'Connect',
  summary: 'List DevTools targets of all sessions',
  description: discovery.list,
  auth: 'connect',
  query: connectQuery,
  reply: z.array(CdpTarget),
  status: 200,
  errors: ['store_unavailable'],
});

const tokenParams = z.object({ token: PathId.describe('Connect token.') });

export const discoverVersionByPath = endpoint({
  id: 'discoverVersionByPath',
  method: 'GET',
  path: '/c/{token}/json/version',
  tag: 'Connect',
  summary: 'Get the address with a token in the path',
  description: `For clients that take a base URL, such as \`browserURL\` of Puppeteer. ${discovery.version}`,
  auth: 'connectPath',
  params: tokenParams,
  query: CreateSessionQuery,
  reply: CdpVersion,
  status: 200,
  errors: ['store_unavailable'],
});

export const discoverTargetsByPath = endpoint({
  id: 'discoverTargetsByPath',
  method: 'GET',
  path: '/c/{token}/json/list',
  tag: 'Connect',
  summary: 'List DevTools targets by a token in the path',
  description: discovery.list,
  auth: 'connectPath',
  params: tokenParams,
  reply: z.array(CdpTarget),
  status: 200,
  errors: ['store_unavailable'],
});
