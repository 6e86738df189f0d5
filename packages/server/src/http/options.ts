import type { Endpoint, ErrorCode } from '@berth/contract';
import type { Clock } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import type { Store } from '../store/store.ts';
import type { Guards, Routes } from './call.ts';
import type { ErrorPage } from './error-page.ts';

export interface HttpLimits {
  /** Of a body, where the endpoint names no other. */
  bodyBytes: number;
  urlBytes: number;
  /** Of the request line and all headers together. */
  headerBytes: number;
  /** How long the headers, and then the body, may take to arrive. */
  requestTimeoutMs: number;
  /** When a call is given up whose endpoint names no deadline. */
  deadlineMs: number;
  /** How long a stream of events is silent at most. */
  keepAliveMs: number;
}

export const defaultLimits: HttpLimits = {
  bodyBytes: 1024 * 1024,
  urlBytes: 8192,
  headerBytes: 16_384,
  requestTimeoutMs: 15_000,
  deadlineMs: 30_000,
  keepAliveMs: 15_000,
};

export interface HttpOptions {
  guards: Guards;
  log: Log;
  /** Keeps the answers of requests with an `Idempotency-Key`. */
  store: Store;
  clock: Clock;
  /** Under which address callers reach us; null: the one they asked for. */
  publicUrl: string | null;
  limits: HttpLimits;
  /** Addresses and CIDR ranges whose `X-Forwarded-*` is believed. */
  trustedProxies: readonly string[];
  /** Callers are then asked to close their connections, so that they find another worker. */
  isDraining(): boolean;
  /** Missing or wrong credentials that one address may send in a minute; null: as many as it likes. */
  authFailuresPerMinute: number | null;
  /** Requests with the operator's key in a minute; null: as many as it likes. */
  adminRequestsPerMinute: number | null;
  /** What a person is shown whose link does not open what it was made for; without it they read JSON. */
  errorPage?: ErrorPage;
  /** For counts. Called at the end of every request, so it must cost next to nothing and never throw. */
  answered?: (facts: Answered) => void;
}

/** One request that is over, or one socket that was opened or refused. */
export interface Answered {
  /** Empty where no endpoint was found, and for files. */
  endpointId: string;
  /** 499 where the caller did not wait for its answer. */
  status: number;
  /** Of the error that it was answered with. */
  code: ErrorCode | null;
  ms: number;
}

/** A file that is served as it is, to anybody. */
export interface Asset {
  contentType: string;
  headers: Record<string, string>;
  load: () => Promise<Buffer> | Buffer;
}

export interface Http extends Routes {
  /** Serves a file at a path of its own; `endpoint` when the contract knows it. */
  asset(path: string, asset: Asset, endpoint?: Endpoint): void;
  /** The ids of the endpoints that are served. */
  readonly mounted: ReadonlySet<string>;
  /** Nothing can be mounted after this. Port 0 takes a free one. */
  listen(host: string, port: number): Promise<{ host: string; port: number }>;
  /**
   * Takes no more connections, waits up to `graceMs` for the requests under
   * way, then aborts them and closes what is open. Sockets are aborted at once.
   */
  close(graceMs: number): Promise<void>;
}
