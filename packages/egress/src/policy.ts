/** The egress policy of a machine and the interface of its route. */
import type { Duplex } from 'node:stream';
import type { EgressType, ProxyRequest } from '@berth/contract';

/** A proxy that traffic leaves through. The url may hold credentials and never leaves this folder. */
export interface Upstream {
  /** http://, https:// or socks5://, with credentials when it needs them. */
  url: string;
  /** The address that sites see, if the operator configured it. */
  ip: string | null;
  country: string | null;
  /** Configured by the operator: may have a private address. A caller's may not. */
  isTrusted: boolean;
}

export interface EgressPolicy {
  /** How traffic leaves: directly, or through proxies of this type. */
  type: EgressType;
  /** Where direct traffic leaves; null: unknown. */
  country: string | null;
  /** Exact names and `*.name`; null: any public host. */
  allowedDomains: readonly string[] | null;
  blockAds: boolean;
  /** Empty: direct. More than one: rotated through. */
  upstreams: readonly Upstream[];
  rotate: ProxyRequest['rotate'];
  /** Hosts that are reached directly in spite of upstreams. */
  bypass: readonly string[];
}

/**
 * Bytes are counted on the wire between the gate and the sites or the upstream
 * proxy, headers and handshakes included, and are current while a transfer
 * runs. Refused connections count nothing.
 */
export interface EgressStats {
  /** How traffic leaves. null: no policy was applied yet. */
  type: EgressType | null;
  /** What sites see, as far as the operator configured it. */
  ip: string | null;
  country: string | null;
  rotations: number;
  rotatedAt: Date | null;
  bytesIn: number;
  bytesOut: number;
  /** The part through the operator's managed and rotating proxies. */
  proxiedIn: number;
  proxiedOut: number;
  /** Connections of the browser. */
  connectionsOpen: number;
}

export interface RotationResult {
  rotated: boolean;
  note: string;
}

/** The egress of one machine. Refuses everything until a policy is applied. */
export interface EgressRoute {
  accept(connection: Duplex): void;
  /** Drops the connections of the previous policy. @throws TypeError for an upstream that is not a proxy address */
  apply(policy: EgressPolicy): void;
  /**
   * Leads `localhost`, its subdomains and the addresses of loopback at this port to the other end of the stream, which
   * serves HTTP/2 and gets a CONNECT for each connection. Closes the tunnel that the port had.
   */
  openTunnel(port: number, stream: Duplex): Promise<OpenTunnel>;
  /** Whether the policy has another upstream that a rotation could switch to. */
  readonly canRotate: boolean;
  /** Switches to the next reachable upstream and drops the connections through the previous one. */
  rotate(signal: AbortSignal): Promise<RotationResult>;
  stats(): EgressStats;
  /** Why the gate last refused or failed to reach this host, for the navigation error. */
  lastRefusal(host: string, port: number): RefusalReport | null;
  /** Where the last direct connection to this host went; null through a proxy, or where none was opened. */
  remoteAddress(host: string, port: number): RemoteAddress | null;
  /** Drops every connection. `stats` are final afterwards. */
  close(): void;
}

/** A way to the caller's own computer. It closes with its stream and with the route; closing the stream is left to who opened it. */
export interface OpenTunnel {
  readonly isOpen: boolean;
  /** Called once, when the tunnel and its connections are closed. */
  onClose(listener: () => void): void;
  close(): void;
}

export type EgressRefusal = 'dns_failed' | 'blocked_by_policy' | 'connection_refused' | 'connection_reset' | 'timeout' | 'proxy_error';

export interface RemoteAddress {
  ip: string;
  port: number;
}

/** Rules of the policy that refuse hosts; `details.rule` of the caller's error. */
export type PolicyRule = 'not_public' | 'port' | 'own_address' | 'allowed_domains' | 'block_ads';

/** What callers may learn about a host that was not reached. */
export interface RefusalReport {
  reason: EgressRefusal;
  /** null: no rule refused the host. */
  rule: PolicyRule | null;
  /** A clause for an error message, such as `example.com cannot be resolved`. */
  message: string;
  /** `net::ERR_…`, as a browser reports it that reaches sites itself. */
  netError: string;
}

interface EgressFailureOptions {
  cause?: unknown;
  rule?: PolicyRule;
  /** A clause for callers. Default: one for the reason. */
  publicMessage?: string | null;
  /** Default: that of the reason. */
  netError?: string;
}

/** A connection that was not opened. The message is for the log only: it may contain internal addresses. */
export class EgressError extends Error {
  readonly reason: EgressRefusal;
  readonly rule: PolicyRule | null;
  readonly publicMessage: string | null;
  readonly netError: string | null;

  constructor(reason: EgressRefusal, message: string, { cause, rule, publicMessage, netError }: EgressFailureOptions = {}) {
    super(message, { cause });
    this.name = 'EgressError';
    this.reason = reason;
    this.rule = rule ?? null;
    this.publicMessage = publicMessage ?? null;
    this.netError = netError ?? null;
  }
}
