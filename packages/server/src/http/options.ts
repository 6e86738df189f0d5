import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Endpoint, ErrorCode } from '@berth/contract';
import type { Disk } from '../disk/disk.ts';
import type { Clock } from '@berth/lib/clock.ts';
import type { Log } from '@berth/lib/log.ts';
import type { Rates } from '../rates/rates.ts';
import type { Store } from '../store/store.ts';
import type { ForwardedCall, Routes } from './call.ts';
import type { Guards, Principal } from '../accounts/principals/principals.ts';
import type { InnerCall } from './inner.ts';
import type { ErrorPage } from './error-page.ts';
import type { Forwarder } from './forward/forward.ts';
import type { Claimant } from './limits/idempotency.ts';
import type { BoundPort } from './server/port.ts';
import type { TlsFiles } from './server/tls.ts';
import type { SessionIdOf } from './forward/session-names.ts';
import { defaultSocketLimits, type SocketLimits } from './limits/socket-budgets.ts';

export interface HttpLimits {
  /** Maximum bytes of a body, unless the endpoint sets its own. */
  bodyBytesMax: number;
  urlBytesMax: number;
  /** Request line and all headers together. */
  headerBytesMax: number;
  /** Time limit for the headers, and again for the body. */
  requestTimeoutMs: number;
  /** Deadline of endpoints that do not set their own. */
  deadlineMs: number;
  /** Interval of keep-alive comments on event streams. */
  keepAliveMs: number;
  sockets: SocketLimits;
}

export const defaultLimits: HttpLimits = {
  bodyBytesMax: 1024 * 1024,
  urlBytesMax: 8192,
  headerBytesMax: 16_384,
  requestTimeoutMs: 15_000,
  deadlineMs: 30_000,
  keepAliveMs: 15_000,
  sockets: defaultSocketLimits,
};

export interface HttpOptions {
  guards: Guards;
  log: Log;
  /** Stores the responses to requests with an `Idempotency-Key`. */
  store: Store;
  disk: Disk;
  /** This process, among the workers that share the store. */
  claimant: Claimant;
  clock: Clock;
  /** The public URL of the service; null: taken from each request. */
  publicUrl: string | null;
  limits: HttpLimits;
  /** The certificate of the port; absent: plain HTTP. */
  tls?: TlsFiles | undefined;
  /** IP addresses and CIDR ranges whose `X-Forwarded-*` headers are trusted. */
  trustedProxies: readonly string[];
  /** While draining, clients are asked to close their connections so that they reach another worker. */
  isDraining(): boolean;
  /** Counts requests and failures. */
  rates: Rates;
  /** Missing or invalid credentials per client address and minute; null: unlimited. */
  authFailuresPerMinuteMax: number | null;
  /** Requests with the admin key per minute; null: unlimited. */
  adminRequestsPerMinuteMax: number | null;
  /** The id of an owner's session by its name, which callers with an API key may use in place of the id. */
  sessionIdOf?: SessionIdOf;
  /** Renders errors for people who open a view link or an address that does not exist; without it they get JSON. */
  errorPage?: ErrorPage;
  /** Passes requests to the worker that can answer them; absent: this one answers all. */
  forwarder?: Forwarder | undefined;
  /** Whether the caller of the request to itself may make it, beyond what its endpoint asks of everybody. @throws ServiceError */
  checkInner?: (principal: Principal, endpoint: Endpoint, params: Readonly<Record<string, string>>) => Promise<void>;
  /** Called before anything of a request is handled: it must be cheap and never throw. */
  onRequest?: () => void;
  /** Called for metrics at the end of every request: it must be cheap and never throw. */
  onCompleted?: (request: CompletedRequest) => void;
}

/** A finished request, or a socket that was opened or refused. */
export interface CompletedRequest {
  /** Empty where no endpoint matched, and for assets. */
  endpointId: string;
  /** 499 where the client closed the connection first. */
  status: number;
  /** Error code of the response. */
  code: ErrorCode | null;
  ms: number;
}

/** Encodings by their name in `Accept-Encoding`. The first is preferred. */
export type Encodings = ReadonlyMap<string, Buffer>;

/** A public static file. */
export interface Asset {
  contentType: string;
  headers: Record<string, string>;
  /** `origin` is the service's, as the caller sees it; `query` is that of the request. */
  load: (origin: string, query: URLSearchParams) => Promise<Buffer | string> | Buffer | string;
  /** The bytes of the file, compressed by the build. */
  encodings?: Encodings;
  /** A text that is compressed when it is first asked for, and has an ETag. Only where it contains no secret. */
  isCompressed?: boolean;
}

export interface Http extends Routes {
  /** Serves a file; `endpoint` where the contract has one for it. */
  asset(path: string, asset: Asset, endpoint?: Endpoint): void;
  /** Ids of the mounted endpoints. */
  readonly mounted: ReadonlySet<string>;
  /** Serves on a port, which it then owns. Nothing can be mounted after this. */
  listen(port: BoundPort): Promise<void>;
  /** A `fetch` of the API within this process, as a caller whom the service has authenticated. */
  fetchAs(call: InnerCall): typeof fetch;
  /** Serves a request that another worker has admitted. It is neither authenticated nor counted again, and goes no further. */
  receive(request: IncomingMessage, response: ServerResponse, call: ForwardedCall): void;
  /** Serves a WebSocket that another worker has admitted, as `receive` serves a request. */
  receiveUpgrade(request: IncomingMessage, upgrade: { socket: Duplex; head: Buffer }, call: ForwardedCall): void;
  /**
   * Stops accepting connections, waits up to `graceMs` for running requests,
   * then aborts them and closes all connections. Sockets are aborted at once.
   */
  close(graceMs: number): Promise<void>;
}
