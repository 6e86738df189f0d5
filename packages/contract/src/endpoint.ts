import type { z } from 'zod';
import type { ErrorCode } from './errors.ts';

/**
 * Who may call an endpoint. `bearer` is an owner's API key, `admin` the
 * operator's key in `x-admin-key`, `connect` an API key or a connect token of
 * the session in the path. `view`, `vnc` and `recording` are a token of that
 * purpose, or the cookie that its first load has set; `recording` takes the
 * owner's API key as well. `login` is an identity provider's token for the
 * organisation that acts, `metrics` the credential of `/metrics`.
 */
export type Auth = 'none' | 'bearer' | 'admin' | 'connect' | 'view' | 'vnc' | 'recording' | 'login' | 'metrics';

/** What an endpoint answers with: JSON, a page, plain text, nothing, a WebSocket, a file, or server-sent events. */
export type ReplyKind = 'json' | 'html' | 'text' | 'empty' | 'websocket' | 'bytes' | 'events';

type Shape = z.ZodType | undefined;

/** One endpoint of the API as data. Validation, documentation and tests are made from it. */
export interface Endpoint<P extends Shape = Shape, Q extends Shape = Shape, B extends Shape = Shape, R extends Shape = Shape> {
  /** The operation's name in the OpenAPI document and in the routes. */
  id: string;
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  path: `/${string}`;
  tag:
    | 'Sessions'
    | 'Driving'
    | 'Connect'
    | 'Viewing'
    | 'Fetch'
    | 'Jobs'
    | 'Regions'
    | 'Usage'
    | 'Keys'
    | 'Billing'
    | 'Operators'
    | 'Self-heal'
    | 'Health';
  summary: string;
  description?: string;
  auth: Auth;
  params?: P;
  query?: Q;
  body?: B;
  /** A body may be left out. Without this an endpoint with a `body` requires one. */
  bodyOptional?: boolean;
  /**
   * The body is handed on as the bytes that came, for whoever must check them:
   * JSON, or the fields of a form. Goes without `body`.
   */
  rawBody?: 'json' | 'form';
  reply?: R;
  replyKind?: ReplyKind;
  /** Headers of the success reply that a caller may rely on, each with its meaning. */
  replyHeaders?: Record<string, string>;
  status: 101 | 200 | 201 | 204;
  /** What else it may answer with, beside what its auth, body and method imply. */
  errors: readonly ErrorCode[];
  /** Top-level fields of the reply that are told once and never kept: null when the reply is replayed. */
  secretReplyFields?: readonly string[];
  /** Statuses of the success schema that are no success, such as 503 of a health check. */
  alsoStatus?: readonly number[];
  /** Where it must be answered: on any worker, or on the one that owns the session. */
  owner?: 'session';
  /** What one call uses of its owner's plan and wallet: metered by the door that serves it. */
  cost?: 'session' | 'action';
  bodyLimitBytes?: number;
  /** When a call is given up, whatever it waits for. */
  deadlineMs?: number;
}

/** Keeps the schemas' types, so that a route's handler knows what it gets and must give. */
export const endpoint = <
  P extends Shape = undefined,
  Q extends Shape = undefined,
  B extends Shape = undefined,
  R extends Shape = undefined,
>(
  value: Endpoint<P, Q, B, R>,
): Endpoint<P, Q, B, R> => value;

type Out<S> = S extends z.ZodType ? z.output<S> : undefined;
export type ParamsOf<E> = E extends Endpoint<infer P, Shape, Shape, Shape> ? Out<P> : never;
export type QueryOf<E> = E extends Endpoint<Shape, infer Q, Shape, Shape> ? Out<Q> : never;
export type BodyOf<E> = E extends Endpoint<Shape, Shape, infer B, Shape> ? Out<B> : never;
export type ReplyOf<E> = E extends Endpoint<Shape, Shape, Shape, infer R> ? Out<R> : never;

const authErrors: Record<Auth, readonly ErrorCode[]> = {
  none: [],
  bearer: ['missing_api_key', 'invalid_api_key', 'rate_limited', 'store_unavailable'],
  admin: ['missing_admin_key', 'invalid_admin_key', 'rate_limited'],
  connect: ['missing_api_key', 'invalid_api_key', 'invalid_connect_token', 'rate_limited', 'store_unavailable'],
  view: ['missing_view_token', 'invalid_view_token', 'rate_limited', 'store_unavailable'],
  vnc: ['missing_view_token', 'invalid_view_token', 'rate_limited', 'store_unavailable'],
  recording: ['missing_view_token', 'invalid_view_token', 'invalid_api_key', 'rate_limited', 'store_unavailable'],
  login: ['missing_login_token', 'invalid_login_token', 'login_unavailable', 'rate_limited', 'store_unavailable'],
  metrics: ['missing_admin_key', 'invalid_admin_key', 'missing_metrics_token', 'invalid_metrics_token', 'rate_limited'],
};

/** Whether an `Idempotency-Key` counts: it is its caller's, so there must be one that is known. */
export const repeats = ({ method, auth }: Endpoint): boolean => method === 'POST' && auth !== 'none';

/** All error codes that an endpoint may answer with, the implied ones too. 422 goes apart, see {@link validates}. */
export function errorsOf(endpoint: Endpoint): ErrorCode[] {
  const implied: ErrorCode[] = [...authErrors[endpoint.auth]];
  if (repeats(endpoint)) implied.push('idempotency_conflict', 'idempotency_in_progress');
  if (endpoint.cost) implied.push('insufficient_credits', 'plan_limit_exceeded');
  if (endpoint.body ?? endpoint.rawBody) implied.push('body_too_large', 'unsupported_media_type', 'request_timeout');
  return [...new Set([...endpoint.errors, ...implied])];
}

/** Whether some request to the endpoint can break a schema, and so be answered 422. */
export const validates = (endpoint: Endpoint): boolean => Boolean(endpoint.body ?? endpoint.query);
