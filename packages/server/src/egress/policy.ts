/** What a way out of a machine is, and what may be asked of it. */
import type { Duplex } from 'node:stream';
import type { ProxyRequest } from '@berth/contract';

/** A proxy that traffic leaves through. Credentials are in the url and never leave this folder. */
export interface Upstream {
  /** http://, https:// or socks5://, with credentials when it needs them. */
  url: string;
  /** The address that sites see, where the operator has told it. */
  ip: string | null;
  country: string | null;
  /** The operator named it, so it may stand at a private address. A caller's may not. */
  trusted: boolean;
}

export interface EgressPolicy {
  /** Exact names and `*.name`; null: any public host. */
  allowedDomains: readonly string[] | null;
  blockAds: boolean;
  /** Empty: direct. More than one: rotated through. */
  upstreams: readonly Upstream[];
  rotate: ProxyRequest['rotate'];
  /** Hosts reached directly although there are upstreams. */
  bypass: readonly string[];
}

/**
 * Bytes are those on the wire between the gate and the sites, or the upstream
 * proxy, headers and handshakes included, and are up to date while a transfer
 * runs. What the gate itself refuses counts nothing.
 */
export interface EgressFacts {
  ip: string | null;
  country: string | null;
  rotations: number;
  rotatedAt: Date | null;
  bytesIn: number;
  bytesOut: number;
  /** Of them: those through proxies that the operator has named, managed and rotating ones. */
  proxiedIn: number;
  proxiedOut: number;
  /** Connections of the browser. */
  connectionsOpen: number;
}

export interface Rotation {
  rotated: boolean;
  note: string;
}

/** The way out of one machine. Refuses everything until a policy is applied. */
export interface EgressWay {
  accept(connection: Duplex): void;
  /** Connections opened under the policy before are dropped. Throws a TypeError for an upstream that is no proxy address. */
  apply(policy: EgressPolicy): void;
  /** Takes the next upstream that can be reached and drops the connections of the one before. */
  rotate(signal: AbortSignal): Promise<Rotation>;
  facts(): EgressFacts;
  /** Why the gate last refused or failed to reach this host, for a truthful navigation error. */
  lastRefusal(host: string): EgressRefusal | null;
  /** Drops every connection. What `facts` tells afterwards is final. */
  close(): void;
}

export type EgressRefusal = 'dns_failed' | 'blocked_by_policy' | 'connection_refused' | 'connection_reset' | 'timeout' | 'proxy_error';

/** A connection that was not opened. The message is for the log: it may tell of addresses inside. */
export class EgressFailure extends Error {
  readonly reason: EgressRefusal;

  constructor(reason: EgressRefusal, message: string, options: { cause?: unknown } = {}) {
    super(message, options);
    this.name = 'EgressFailure';
    this.reason = reason;
  }
}
