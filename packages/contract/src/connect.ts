/** Endpoints of DevTools clients: an address and a token, the socket, and its discovery. */
import { z } from 'zod';
import { endpoint } from './endpoint.ts';
import { PathId, Timestamp } from './fields.ts';
import { sessionStatuses } from './session.ts';

const sessionParams = z.object({ session_id: PathId });

export const ConnectInfo = z
  .object({
    session_id: z.string(),
    status: z.enum(sessionStatuses),
    cdp_url: z.string().meta({ description: 'The DevTools socket with the token: for `connectOverCDP` and `browserWSEndpoint`.' }),
    cdp_http_url: z.string().meta({ description: 'For `connectOverCDP` with an `Authorization` header.' }),
    token: z.string(),
    token_type: z.literal('connect'),
    expires_at: Timestamp.meta({ description: 'Until when the token opens sockets. An open socket lives as long as the session.' }),
    protocol: z.string(),
    browser: z.string(),
    snippets: z.object({ playwright: z.string(), puppeteer: z.string() }),
  })
  .meta({ id: 'ConnectInfo' });
export type ConnectInfo = z.infer<typeof ConnectInfo>;

export const connectSession = endpoint({
  id: 'connectSession',
  method: 'GET',
  path: '/v1/session/{session_id}/connect',
  tag: 'Connect',
  summary: 'An address and a short-lived token for Playwright and Puppeteer',
  auth: 'bearer',
  params: sessionParams,
  reply: ConnectInfo,
  status: 200,
  owner: 'session',
  errors: ['session_not_found', 'session_not_ready', 'session_ended', 'store_unavailable'],
});

/** Why a DevTools socket was closed: the close code, with its reason as text. */
export const closeCodes = {
  session_ended: 4000,
  idle_timeout: 4001,
  max_lifetime: 4002,
  unauthorized: 4003,
  session_not_found: 4004,
  browser_crashed: 4008,
  limit: 4009,
  credits_exhausted: 4010,
  service_restart: 1012,
} as const;
export type CloseReason = keyof typeof closeCodes;

const connectQuery = z.object({
  token: z.string().max(2048).optional().meta({ description: 'A connect token. An API key is never taken from an address.' }),
});

export const openCdp = endpoint({
  id: 'openCdp',
  method: 'GET',
  path: '/v1/session/{session_id}/cdp',
  tag: 'Connect',
  summary: 'The DevTools socket',
  description: `A WebSocket that speaks the Chrome DevTools Protocol. Closed with ${Object.entries(closeCodes)
    .map(([reason, code]) => `${code} \`${reason}\``)
    .join(', ')}.`,
  auth: 'connect',
  params: sessionParams,
  query: connectQuery,
  status: 101,
  replyKind: 'websocket',
  owner: 'session',
  errors: ['session_not_found', 'session_not_ready', 'session_ended', 'origin_not_allowed', 'bad_request'],
});

const cdpErrors = ['session_not_found', 'session_not_ready', 'session_ended', 'store_unavailable'] as const;

export const cdpVersion = endpoint({
  id: 'cdpVersion',
  method: 'GET',
  path: '/v1/session/{session_id}/cdp/json/version',
  tag: 'Connect',
  summary: 'The browser’s version and its socket, as DevTools clients ask for it',
  auth: 'connect',
  params: sessionParams,
  query: connectQuery,
  reply: z
    .object({
      Browser: z.string(),
      'Protocol-Version': z.string(),
      'User-Agent': z.string(),
      'V8-Version': z.string(),
      'WebKit-Version': z.string(),
      webSocketDebuggerUrl: z.string(),
    })
    .meta({ id: 'CdpVersion' }),
  status: 200,
  owner: 'session',
  errors: cdpErrors,
});

export const cdpList = endpoint({
  id: 'cdpList',
  method: 'GET',
  path: '/v1/session/{session_id}/cdp/json/list',
  tag: 'Connect',
  summary: 'The open pages, as DevTools clients ask for them',
  auth: 'connect',
  params: sessionParams,
  query: connectQuery,
  reply: z.array(
    z
      .object({
        id: z.string(),
        type: z.string(),
        title: z.string(),
        url: z.string(),
        description: z.string(),
        webSocketDebuggerUrl: z.string(),
      })
      .meta({ id: 'CdpTarget' }),
  ),
  status: 200,
  owner: 'session',
  errors: cdpErrors,
});

export const cdpProtocol = endpoint({
  id: 'cdpProtocol',
  method: 'GET',
  path: '/v1/session/{session_id}/cdp/json/protocol',
  tag: 'Connect',
  summary: 'The protocol’s description',
  auth: 'connect',
  params: sessionParams,
  query: connectQuery,
  reply: z.object({ version: z.object({ major: z.string(), minor: z.string() }), domains: z.array(z.unknown()) }),
  status: 200,
  owner: 'session',
  errors: cdpErrors,
});
