/** What a route's handler receives and returns: all that other folders know of HTTP. */
import type { Auth, BodyOf, Endpoint, ParamsOf, QueryOf, ReplyOf, ViewScope } from '@berth/contract';
import type { Duplex } from 'node:stream';
import type { IncomingMessage } from 'node:http';
import type { WebSocket } from 'ws';
import type { FileReply, ServerEvent } from './server/stream.ts';

export type { FileReply, ServerEvent } from './server/stream.ts';

/** The authenticated caller. */
export interface Principal {
  /** null for the operator and for public endpoints. */
  owner: string | null;
  keyId: string | null;
  /** The rate limit of the owner's plan; null: unlimited. */
  requestsPerMinute: number | null;
  /** Namespace of idempotency keys and of the rate limit: one per owner, one for the operator. */
  scope: string;
  /** The `sub` claim of the login token; absent for keys. */
  subject?: string;
  /** Id of the connect token, for callers with one. `keyId` is then the key that created it. */
  connectTokenId?: string;
  /** Set for callers with a view link; absent for keys. */
  viewer?: Viewer;
}

/** A caller with a view link. */
export interface Viewer {
  /** Id of the link. */
  grantId: string;
  sessionId: string;
  scope: ViewScope | 'vnc';
  /** Epoch ms at which the link was issued: links issued before a revocation are invalid. */
  issuedAtMs: number;
  /** Whether the token itself was sent: the response then sets the cookie. */
  isFirstLoad: boolean;
}

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

/** The actor as the audit log names it. */
export function actorOf({ keyId, subject, connectTokenId }: Principal): string {
  if (connectTokenId !== undefined) return `connect_token:${connectTokenId}`;
  if (keyId !== null) return `key:${keyId}`;
  return subject === undefined ? 'operator' : `login:${subject}`;
}

/** @throws Error where the endpoint's guard sets no owner */
export function ownerOf({ owner }: Principal): string {
  if (owner === null) throw new Error('the guard of this endpoint sets no owner');
  return owner;
}

export const callerOf = (principal: Principal): { owner: string; actor: string } => ({
  owner: ownerOf(principal),
  actor: actorOf(principal),
});

/** The credentials of a request. */
export interface Credentials {
  /** The value of the one `Authorization` header. */
  authorization: string | undefined;
  adminKey: string | undefined;
  /** `?token=`, or the token in the path, for the auth classes that take one. */
  token: string | undefined;
  /** All view cookies: a browser sends one for each matching path. */
  viewCookies: readonly string[];
  params: Record<string, string>;
}

/** The token of `Authorization: Bearer TOKEN`. */
export const bearerOf = ({ authorization = '' }: Credentials): string | undefined => /^Bearer +(\S+) *$/i.exec(authorization)?.[1];

/** @throws ServiceError of the missing or invalid credential */
export type Guard = (credentials: Credentials) => Promise<Principal> | Principal;
export type Guards = Record<Auth, Guard>;

/** The request headers that a handler may read; all others are handled before it. */
export type ReadableHeader = 'last-event-id' | 'idempotency-key' | 'stripe-signature' | 'host' | 'origin';

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
}
