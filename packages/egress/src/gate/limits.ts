import type { NameLimits } from '../names/resolve.ts';

export interface EgressLimits extends NameLimits {
  /** Connections of one browser. A page with sixty hosts opens some 200. */
  connectionsMax: number;
  /** How long a browser connection may wait for the head of its next request. */
  headTimeoutMs: number;
  /** How long connecting to a site may take, the proxy included. */
  connectTimeoutMs: number;
  /** An idle connection is dropped. Longer than the pings of WebSockets and than long polls. */
  idleTimeoutMs: number;
  /** How long an idle connection to a site is kept for the next plain request. */
  keepAliveMs: number;
}

export const defaultLimits: EgressLimits = {
  connectionsMax: 512,
  headTimeoutMs: 75_000,
  resolveTimeoutMs: 5000,
  failedNameTtlMs: 2000,
  lookupsMax: 16,
  lookupsWaitingMax: 256,
  connectTimeoutMs: 15_000,
  idleTimeoutMs: 600_000,
  keepAliveMs: 15_000,
};
