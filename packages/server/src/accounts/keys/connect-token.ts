import type { ConnectTokenResponse } from '@berth/contract';
import { connectTokenPrefix } from '@berth/lib/secrets/credential-prefixes.ts';
import { keyStatus, type ApiKey } from './api-key.ts';

export interface ConnectToken {
  tokenId: string;
  owner: string;
  /** The API key that created it. */
  keyId: string;
  name: string | null;
  last4: string;
  createdAt: Date;
  lastUsedAt: Date | null;
  /** null: never. */
  expiresAt: Date | null;
  /** How long its sessions wait for a client that has disconnected. */
  reconnectSeconds: number;
  key: Pick<ApiKey, 'revokedAt' | 'expiresAt'>;
}

export function connectTokenStatus({ key, expiresAt }: ConnectToken, now: Date): ConnectTokenResponse['status'] {
  if (keyStatus(key, now) !== 'active') return 'key_revoked';
  return keyStatus({ revokedAt: null, expiresAt }, now) === 'active' ? 'active' : 'expired';
}

export const toConnectToken = (token: ConnectToken, now: Date): ConnectTokenResponse => ({
  token_id: token.tokenId,
  name: token.name,
  prefix: connectTokenPrefix,
  last4: token.last4,
  key_id: token.keyId,
  created_at: token.createdAt.toISOString(),
  last_used_at: token.lastUsedAt?.toISOString() ?? null,
  expires_at: token.expiresAt?.toISOString() ?? null,
  reconnect_seconds: token.reconnectSeconds,
  status: connectTokenStatus(token, now),
});

/** The addresses that clients are configured with. `origin` is the service's origin as the caller reaches it. */
export const toConnectUrls = (origin: string, raw: string): { cdp_url: string; cdp_http_url: string } => ({
  cdp_url: `${origin.replace(/^http/, 'ws')}/v1/connect?token=${raw}`,
  cdp_http_url: `${origin}/c/${raw}`,
});
