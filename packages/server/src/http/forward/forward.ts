/** What this layer knows of other workers: who may answer a request, and how it is passed on. */
import type { Endpoint, ErrorCode } from '@berth/contract';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Exchange } from '../server/exchange.ts';

/** A worker that answers in place of this one. */
export interface ForwardTarget {
  workerId: string;
  sessionId: string | null;
}

/** The response of another worker. */
export interface ForwardedResponse {
  status: number;
  /** Names and values in turn, without those of the connection. */
  headers: string[];
  /** Error code; null for success and for validation errors. */
  code: ErrorCode | null;
  body: IncomingMessage;
}

/** A WebSocket that another worker has accepted. */
export interface ForwardedSocket {
  /** Names and values in turn. */
  headers: string[];
  socket: Duplex;
  head: Buffer;
}

export interface Forwarder {
  readonly workerId: string;
  /** The worker of the session in the path; null: this one answers. A session of this worker costs no query. @throws ServiceError store_unavailable */
  byPath(exchange: Exchange, endpoint: Endpoint, params: Readonly<Record<string, string>>): Promise<ForwardTarget | null> | null;
  /** The workers that may answer a validated request, best first; null: this one alone. @throws ServiceError store_unavailable */
  byContent(exchange: Exchange, endpoint: Endpoint): Promise<readonly ForwardTarget[] | null> | null;
  /** Whether clients who ask the same share a session: a worker that was found for one of them may not be where another has just made it. */
  isShared(exchange: Exchange, endpoint: Endpoint): boolean;
  /** The reply with what other workers add to it, where it lists what each worker knows alone. */
  gather(exchange: Exchange, endpoint: Endpoint, reply: unknown): Promise<unknown>;
  /** Whether the session of a worker that cannot be reached is over. @throws ServiceError store_unavailable */
  hasEnded(target: ForwardTarget): Promise<boolean>;
  /** `body`: what was read of the request already; absent: it is passed on as it comes. @throws ServiceError worker_unreachable */
  send(exchange: Exchange, target: ForwardTarget, body?: Buffer): Promise<ForwardedResponse>;
  /** @throws ServiceError worker_unreachable, rate_limited */
  open(exchange: Exchange, target: ForwardTarget, client: Duplex): Promise<ForwardedSocket | ForwardedResponse>;
}

/** Which worker answered. */
export const workerHeader = 'x-berth-worker';
/** The error code of a forwarded response, for the log and the metrics of the worker that sends it to the client. */
export const codeHeader = 'x-berth-code';

/** What the other worker may take longer than its own deadline, to say so. */
export const forwardGraceMs = 5000;

/** What a response says of workers: to a client who answered, to another worker what went wrong. */
export function workerHeaders({ forwarded, code }: Exchange, forwarder: Forwarder | undefined): Record<string, string> {
  if (forwarded) return code === null ? {} : { [codeHeader]: code };
  return forwarder ? { [workerHeader]: forwarder.workerId } : {};
}
