/** What to change where a request has a valid kind of credential in the wrong place. Only its prefix is read. */
import type { Endpoint } from '@berth/contract';
import type { IncomingMessage } from 'node:http';
import { adminKeyPrefix, apiKeyPrefix, connectTokenPrefix } from '@berth/lib/secrets/credential-prefixes.ts';

const toApiKey = 'Send your API key as `Authorization: Bearer KEY`.';
const toAdminKey = 'Send the admin key in the header `x-admin-key`.';

interface SentCredentials {
  bearer: string;
  apiKeyHeader: string;
  adminKeyHeader: string;
}

/** The message that says which credential was sent, and where the right one goes; undefined where nothing is known about it. */
export function credentialHint({ auth, method, path }: Endpoint, request: IncomingMessage): string | undefined {
  const sent = sentCredentials(request);
  switch (auth) {
    case 'admin':
    case 'metrics':
      return adminHint(sent, auth === 'metrics');
    case 'login':
      return sent.bearer.startsWith(apiKeyPrefix)
        ? `This is an API key. ${method} ${path} takes the login token of your identity provider; operators manage keys at /admin/keys.`
        : undefined;
    case 'bearer':
    case 'connect':
    case 'recording':
    case 'report':
      return apiKeyHint(sent, auth === 'connect');
    default:
      return undefined;
  }
}

function adminHint({ bearer, apiKeyHeader, adminKeyHeader }: SentCredentials, acceptsBearer: boolean): string | undefined {
  if (adminKeyHeader.startsWith(apiKeyPrefix)) return `This is an API key, not the admin key. ${toAdminKey}`;
  if (adminKeyHeader !== '') return undefined;
  if (bearer.startsWith(adminKeyPrefix) && !acceptsBearer) return `The admin key is not accepted as a Bearer token. ${toAdminKey}`;
  if (bearer.startsWith(apiKeyPrefix) || apiKeyHeader.startsWith(apiKeyPrefix))
    return `This is an API key, and this endpoint is for the operator. ${toAdminKey}`;
  return undefined;
}

function apiKeyHint({ bearer, apiKeyHeader, adminKeyHeader }: SentCredentials, acceptsTokens: boolean): string | undefined {
  if (bearer.startsWith(adminKeyPrefix)) return `This is an admin key, not an API key. ${toApiKey}`;
  if (bearer.startsWith(connectTokenPrefix) && !acceptsTokens) return `This is a connect token, which only opens connections. ${toApiKey}`;
  if (bearer !== '') return undefined;
  if (apiKeyHeader !== '') return `The API key is not read from the header \`x-api-key\`. ${toApiKey}`;
  return adminKeyHeader === '' ? undefined : `The admin key does not open this endpoint. ${toApiKey}`;
}

function sentCredentials({ headers }: IncomingMessage): SentCredentials {
  const text = (value: string | string[] | undefined): string => (typeof value === 'string' ? value.trim() : '');
  return {
    bearer: text(headers.authorization)
      .replace(/^bearer\s/i, '')
      .trimStart(),
    apiKeyHeader: text(headers['x-api-key']),
    adminKeyHeader: text(headers['x-admin-key']),
  };
}
