/** What a route's handler receives and returns: all that other folders know of HTTP. */
import type { BodyOf, Endpoint, ParamsOf, QueryOf, ReplyOf } from '@berth/contract';
import type { Duplex } from 'node:stream';
import type { IncomingMessage } from 'node:http';
import type { WebSocket } from 'ws';
import type { Principal } from '../accounts/principals/principals.ts';
import type { FileReply, ServerEvent } from './server/stream.ts';

export type { FileReply, ServerEvent } from './server/stream.ts';

/** A request that another worker has admitted. */
export interface ForwardedCall {
  principal: Principal;
  requestId: string;
  origin: string;
  /** The session that it names; null for none. */
  sessionId: string | null;
  /** Id of the worker that the client reached. */
  from: string;
}

/** The request headers that a handler may read; all others are handled before it. */
export type ReadableHeader =
  | 'last-event-id'
  | 'idempotency-key'
  | 'stripe-signature'
  | 'host'
  | 'origin'
  | 'accept'
  | 'mcp-protocol-version'
  | 'mcp-method'
  | 'mcp-name';

export interface Call<E extends Endpoint = Endpoint> {
  params: ParamsOf<E>;
  query: QueryOf<E>;
  body: BodyOf<E>;
  /** The bytes of the body, for endpoints with `rawBody`; else empty. */
  rawBody: Buffer;
  principal: Principal;
  /** Aborted at the endpoint's deadline, when the client disconnects and when the service stops. */
  signal: AbortSignal;
  requestId: string;
  /** `http://HOST` or `https://HOST` of the request, or BERTH_PUBLIC_URL. */
  origin: string;
  /** The path and query of the request. */
  target: string;
  /** The first header of that name. */
  header(name: ReadableHeader): string | undefined;
  setHeader(name: string, value: string): void;
  /** Sets the status of the reply, for endpoints with `alsoStatus`. */
  setStatus(status: number): void;
}

export type Handler<E extends Endpoint> = (call: Call<E>) => Promise<ReplyOf<E>> | ReplyOf<E>;

/** Opens the file. An error thrown here becomes the response. */
export type FileHandler<E extends Endpoint> = (call: Call<E>) => Promise<FileReply> | FileReply;
/** The iterable is sent until it ends; it is closed when the client disconnects or the service stops. */
export type EventsHandler<E extends Endpoint> = (call: Call<E>) => Promise<AsyncIterable<ServerEvent>> | AsyncIterable<ServerEvent>;

/** Makes the whole response. An error thrown here becomes the response. */
export type ResponseHandler<E extends Endpoint> = (call: Call<E>) => Promise<Response> | Response;

/** Called after authentication and validation. An error thrown before `accept` becomes the response to the upgrade. */
export type SocketHandler<E extends Endpoint> = (call: Call<E>, upgrade: Upgrade) => Promise<void> | void;

export interface Upgrade {
  /**
   * Completes the WebSocket handshake. A message larger than `messageBytesMax` closes the socket.
   * `sessionId`: whose memory it counts as, where the path names no session.
   */
  accept: (options?: { messageBytesMax?: number; sessionId?: string }) => Promise<WebSocket>;
  /** Completes the handshake as `accept` does, with a byte stream of binary messages that has back-pressure. */
  acceptStream: (options?: { messageBytesMax?: number }) => Promise<{ socket: WebSocket; stream: Duplex }>;
  /** False, and the socket closed with 4009, when the client, its session or all clients leave too much unread. */
  hasRoom: (socket: WebSocket) => boolean;
  request: IncomingMessage;
  socket: Duplex;
}

/** What a folder's `routes.ts` mounts its endpoints on. */
export interface Routes {
  on<E extends Endpoint>(endpoint: E, handler: Handler<E>): void;
  /** Mounts an endpoint that answers with a file (`replyKind: 'bytes'`). */
  onFile<E extends Endpoint>(endpoint: E, handler: FileHandler<E>): void;
  /** Mounts an endpoint that answers with server-sent events (`replyKind: 'events'`). */
  onEvents<E extends Endpoint>(endpoint: E, handler: EventsHandler<E>): void;
  onSocket<E extends Endpoint>(endpoint: E, handler: SocketHandler<E>): void;
  /** Mounts a way in by the protocol of others, whose handler makes the whole response. It is no part of the contract. */
  onResponse<E extends Endpoint>(endpoint: E, handler: ResponseHandler<E>): void;
}
