/** Connect tokens: credentials for addresses, which create and drive sessions by connecting and do nothing else. */
import { z } from 'zod';
import { endpoint } from '../endpoint.ts';
import { PathId, ReconnectSeconds, Timestamp, credentialName, expiresInDays } from '../fields.ts';

export const ConnectToken = z
  .object({
    token_id: z.string().meta({ description: 'Id of the connect token.', examples: ['tok_3k2v9q0d7m5x1c8b4n6z2f7h'] }),
    name: z.string().nullable().describe('Name of the token; null if it has none.'),
    prefix: z.string().meta({ description: 'First characters of the token.', examples: ['brt_connect_'] }),
    last4: z.string().describe('Last four characters of the token.'),
    key_id: z.string().describe('Id of the API key that created the token. The token is valid only as long as this key.'),
    created_at: Timestamp.describe('When the token was created (RFC 3339, UTC).'),
    last_used_at: Timestamp.nullable().describe('When the token was last used (RFC 3339, UTC), to the minute; null if never.'),
    expires_at: Timestamp.nullable().describe('When the token expires (RFC 3339, UTC); null if never.'),
    reconnect_seconds: z
      .int()
      .describe('Seconds for which its sessions wait at their address after the last client has disconnected; 0: they end then.'),
    status: z
      .enum(['active', 'expired', 'key_revoked'])
      .describe('Status of the token. `key_revoked`: its API key was revoked or has expired. A revoked token is not listed.'),
  })
  .meta({ id: 'ConnectTokenResponse' });
export type ConnectTokenResponse = z.infer<typeof ConnectToken>;

const once = 'It is returned once: null in a replayed response.';

export const CreatedConnectToken = ConnectToken.extend({
  token: z.string().nullable().describe(`The secret token. ${once}`),
  cdp_url: z
    .string()
    .nullable()
    .describe(
      `DevTools WebSocket URL with the token, for \`browserWSEndpoint\` of Puppeteer and \`connectOverCDP\` of Playwright. ${once}`,
    ),
  cdp_http_url: z
    .string()
    .nullable()
    .describe(`HTTP address with the token, for \`browserURL\` of Puppeteer and for tools that discover a browser over HTTP. ${once}`),
}).meta({ id: 'CreatedConnectTokenResponse' });

export const CreateConnectTokenRequest = z
  .strictObject({
    name: credentialName('token'),
    expires_in_days: expiresInDays('token'),
    reconnect_seconds: ReconnectSeconds.default(0).describe(
      'Seconds for which a session that was created with the token waits for its clients after the last has disconnected, ' +
        '0 to 3600: whoever connects to the same address meanwhile finds its browser. Default: 0, it ends then.',
    ),
  })
  .meta({ id: 'CreateConnectTokenRequest' });

export const createConnectToken = endpoint({
  id: 'createConnectToken',
  method: 'POST',
  path: '/v1/connect-tokens',
  tag: 'Connect',
  summary: 'Create a connect token',
  description:
    'Creates a token for the address `/v1/connect`, with which clients that can send nothing but an address create ' +
    'sessions and drive them. It works for nothing else, and only as long as the API key that created it. The token is ' +
    'returned in this response only and cannot be retrieved later.',
  auth: 'bearer',
  body: CreateConnectTokenRequest,
  bodyOptional: true,
  reply: CreatedConnectToken,
  secretReplyFields: ['token', 'cdp_url', 'cdp_http_url'],
  status: 201,
  errors: ['connect_token_limit_reached', 'store_unavailable'],
});

export const listConnectTokens = endpoint({
  id: 'listConnectTokens',
  method: 'GET',
  path: '/v1/connect-tokens',
  tag: 'Connect',
  summary: 'List connect tokens',
  description: 'Returns your connect tokens without their secrets, newest first. There are at most 100.',
  auth: 'bearer',
  reply: z.array(ConnectToken),
  status: 200,
  errors: ['store_unavailable'],
});

export const revokeConnectToken = endpoint({
  id: 'revokeConnectToken',
  method: 'DELETE',
  path: '/v1/connect-tokens/{token_id}',
  tag: 'Connect',
  summary: 'Revoke a connect token',
  description:
    'Revokes a connect token and deletes it. Connections that it opened are closed within a second, and their sessions ' +
    'end with them unless they were created with `keep_alive`.',
  auth: 'bearer',
  params: z.object({ token_id: PathId.describe('Id of the connect token.') }),
  status: 204,
  replyKind: 'empty',
  errors: ['connect_token_not_found', 'store_unavailable'],
});
