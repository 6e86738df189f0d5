/** What a route's handler is given and may answer: the whole of what folders know of HTTP. */
import type { Auth, BodyOf, Endpoint, ParamsOf, QueryOf, ReplyOf, ViewScope } from '@berth/contract';
import type { Duplex } from 'node:stream';
import type { IncomingMessage } from 'node:http';
import type { WebSocket } from 'ws';
import type { FileReply, ServerEvent } from './stream.ts';

export type { FileReply, ServerEvent } from './stream.ts';

/** Who calls, as a guard has found out. */
export interface Principal {
  /** The owner that acts; null for the operator and for endpoints open to all. */
  owner: string | null;
  keyId: string | null;
  /** Requests a minute that the owner's tier allows; null: as many as it likes. */
  requestsPerMinute: number | null;
  /** What idempotency keys are kept under: an owner, or the operator. */
  scope: string;
  /** Who signed in, as the identity provider names them; absent for keys. */
  subject?: string;
  /** How somebody came in who watches; absent for keys. */
  viewer?: Viewer;
}

/** Somebody with a link. */
export interface Viewer {
  /** One for each link, whatever it was opened by. */
  grantId: string;
  sessionId: string;
  scope: ViewScope | 'vnc';
  /** Epoch ms at which the link was made: one that was made before links were revoked is dead. */
  issuedAtMs: number;
  /** Whether it is the first load, by the token itself: the reply then sets the cookie. */
  isFirstLoad: boolean;
}

/** Who acts, in the words of the audit log. */
export function actorOf({ keyId, subject }: Principal): string {
  if (keyId !== null) return `key:${keyId}`;
  return subject === undefined ? 'operator' : `login:${subject}`;
}

/** The principal's owner. Endpoints of owners have guards that give one. */
export function ownerOf({ owner }: Principal): string {
  if (owner === null) throw new Error('this endpoint is mounted with a guard that names no owner');
  return owner;
}

/** For whom, and in whose name. */
export const whoOf = (principal: Principal): { owner: string; actor: string } => ({ owner: ownerOf(principal), actor: actorOf(principal) });

/** What a request carries to show who calls. */
export interface Credentials {
  /** The value of the one `Authorization` header. */
  authorization: string | undefined;
  adminKey: string | undefined;
  /** `?token=`, for the auth classes that take one. */
  token: string | undefined;
  /** All cookies of the name that viewers' cookies have: a browser sends one for each path that fits. */
  viewCookies: readonly string[];
  params: Record<string, string>;
}

/** Throws the ServiceError of a missing or wrong credential. */
export type Guard = (credentials: Credentials) => Promise<Principal> | Principal;
export type Guards = Record<Auth, Guard>;

/** The headers of a request that a handler may look at: all others are the stations' before it. */
export type ReadableHeader = 'last-event-id' | 'idempotency-key' | 'stripe-signature' | 'host' | 'origin';

export interface Call<E extends Endpoint = Endpoint> {
  params: ParamsOf<E>;
  query: QueryOf<E>;
  body: BodyOf<E>;
  /** The bytes of the body, for endpoints with `rawBody`; else empty. */
  rawBody: Buffer;
  principal: Principal;
  /** Aborted at the endpoint's deadline, when the caller goes away, and when the service stops. */
  signal: AbortSignal;
  requestId: string;
  /** `http://HOST` or `https://HOST` as the caller reached us, or BERTH_PUBLIC_URL. */
  origin: string;
  /** The path and query as asked for, from the first slash on. */
  target: string;
  /** The first of that name; undefined where there is none. */
  header(name: ReadableHeader): string | undefined;
  setHeader(name: string, value: string): void;
  /** For endpoints with `alsoStatus`. */
  setStatus(status: number): void;
}

export type Handler<E extends Endpoint> = (call: Call<E>) => Promise<ReplyOf<E>> | ReplyOf<E>;

/** Opens what is sent; throwing before that answers with the error. */
export type FileHandler<E extends Endpoint> = (call: Call<E>) => Promise<FileReply> | FileReply;
/** Its iterable is sent until it ends, and closed when the caller goes away or the service stops. */
export type EventsHandler<E extends Endpoint> = (call: Call<E>) => Promise<AsyncIterable<ServerEvent>> | AsyncIterable<ServerEvent>;

/** Takes the upgraded socket; called after guard and validation. Throwing before `accept` answers the upgrade with that error. */
export type SocketHandler<E extends Endpoint> = (call: Call<E>, upgrade: Upgrade) => Promise<void> | void;

export interface Upgrade {
  /** Completes the WebSocket handshake. `messageBytesMax` closes the socket of who sends more at once. */
  accept: (options?: { messageBytesMax?: number }) => Promise<WebSocket>;
  /** The same as a stream of bytes: binary messages in and out, with back-pressure. */
  acceptStream: (options?: { messageBytesMax?: number }) => Promise<{ socket: WebSocket; stream: Duplex }>;
  request: IncomingMessage;
  socket: Duplex;
}

/** What a folder's `routes.ts` mounts its endpoints on. */
export interface Routes {
  on<E extends Endpoint>(endpoint: E, handler: Handler<E>): void;
  /** For endpoints that answer with a file (`replyKind: 'bytes'`). */
  onFile<E extends Endpoint>(endpoint: E, handler: FileHandler<E>): void;
  /** For endpoints that answer with server-sent events (`replyKind: 'events'`). */
  onEvents<E extends Endpoint>(endpoint: E, handler: EventsHandler<E>): void;
  onSocket<E extends Endpoint>(endpoint: E, handler: SocketHandler<E>): void;
}
