import { z } from 'zod';
import type { ErrorCode } from './errors.ts';

/**
 * Credential that an endpoint requires. `bearer`: an owner's API key. `admin`:
 * the operator's key in `x-admin-key`. `connect`: an API key, a connect token, or
 * a token of the session in the path. `connectPath`: a connect token in the path. `view`, `vnc` and `recording`: a token of that
 * purpose or the cookie that the first request sets; `recording` also accepts
 * the owner's API key. `report`: the token of a report's link, or the owner's API key. `login`: a login token of the identity provider.
 * `metrics`: the credential of `/metrics`. `agent`: an API key, also in the header `X-API-Key`, or a connect token.
 */
export type Auth =
  | 'none'
  | 'bearer'
  | 'admin'
  | 'connect'
  | 'connectPath'
  | 'view'
  | 'vnc'
  | 'recording'
  | 'report'
  | 'login'
  | 'metrics'
  | 'agent';

/** Form of a success response. Default: JSON. */
export type ReplyKind = 'json' | 'html' | 'text' | 'empty' | 'websocket' | 'bytes' | 'events';

type Shape = z.ZodType | undefined;

/** One endpoint of the API as data. Validation, documentation and tests are derived from it. */
export interface Endpoint<P extends Shape = Shape, Q extends Shape = Shape, B extends Shape = Shape, R extends Shape = Shape> {
  /** Operation id in the OpenAPI document and in the routes. */
  id: string;
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  path: `/${string}`;
  tag:
    | 'Sessions'
    | 'Profiles'
    | 'Driving'
    | 'Connect'
    | 'Viewing'
    | 'Fetch'
    | 'Inspect'
    | 'Agent'
    | 'Jobs'
    | 'Regions'
    | 'Usage'
    | 'Keys'
    | 'Billing'
    | 'Operators'
    | 'Self-heal'
    | 'Health';
  /** A verb in the imperative and a noun, such as "Create a session". */
  summary: string;
  /** One to three sentences: what it does, what it returns, and what to know. */
  description?: string;
  auth: Auth;
  params?: P;
  /** Whether the last parameter takes the rest of the path, with its slashes, also an empty one. */
  isPathOpen?: boolean;
  query?: Q;
  body?: B;
  /** Whether the body may be omitted. */
  bodyOptional?: boolean;
  /**
   * Top-level fields of the body whose strings may contain NUL and unpaired
   * surrogates, because they are never stored. Default: none may.
   */
  exactTextFields?: readonly string[];
  /**
   * Also accepts the body as `multipart/form-data` with a part `file` of at most `bytesMax` bytes. Its bytes fill the field `bytes` in base64, and
   * its name fills the field `name`, unless the form has a part of that name.
   */
  multipart?: { bytes: string; name: string; bytesMax: number };
  /** Passes the body to the handler as raw bytes, for example to verify a signature. Excludes `body`. */
  rawBody?: 'json' | 'form';
  reply?: R;
  replyKind?: ReplyKind;
  /** Headers of the success response, each with its description. */
  replyHeaders?: Record<string, string>;
  status: 101 | 200 | 201 | 204;
  /** Error codes beside those implied by auth, body and method. */
  errors: readonly ErrorCode[];
  /** Top-level fields of the response that are sent once and never stored: null in a replayed response. */
  secretReplyFields?: readonly string[];
  /** Further statuses with the same body, such as 503 of a health check. */
  alsoStatus?: readonly number[];
  /** What one call is metered as. */
  cost?: 'session' | 'action';
  bodyLimitBytes?: number;
  /** Time after which the call fails with `deadline_exceeded`. */
  deadlineMs?: number;
}

/** Keeps the types of the schemas, so that handlers are checked against them. */
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

export const authErrors: Record<Auth, readonly ErrorCode[]> = {
  none: [],
  bearer: ['missing_api_key', 'invalid_api_key', 'rate_limited', 'store_unavailable'],
  admin: ['missing_admin_key', 'invalid_admin_key', 'rate_limited'],
  connect: ['missing_api_key', 'invalid_api_key', 'invalid_connect_token', 'rate_limited', 'store_unavailable'],
  connectPath: ['invalid_connect_token', 'rate_limited', 'store_unavailable'],
  view: ['missing_view_token', 'invalid_view_token', 'rate_limited', 'store_unavailable'],
  vnc: ['missing_view_token', 'invalid_view_token', 'rate_limited', 'store_unavailable'],
  recording: ['missing_view_token', 'invalid_view_token', 'invalid_api_key', 'rate_limited', 'store_unavailable'],
  report: ['missing_view_token', 'invalid_view_token', 'invalid_api_key', 'rate_limited', 'store_unavailable'],
  login: ['missing_login_token', 'invalid_login_token', 'login_unavailable', 'rate_limited', 'store_unavailable'],
  agent: ['missing_api_key', 'invalid_api_key', 'invalid_connect_token', 'rate_limited', 'store_unavailable'],
  metrics: ['missing_admin_key', 'invalid_admin_key', 'missing_metrics_token', 'invalid_metrics_token', 'rate_limited'],
};

/** Errors of any endpoint: of a request that cannot be read, and of a service that starts, fails, is too slow or shuts down. */
export const commonErrors = [
  'bad_request',
  'request_timeout',
  'uri_too_long',
  'headers_too_large',
  'not_implemented',
  'internal_error',
  'starting',
  'draining',
  'deadline_exceeded',
] as const satisfies readonly ErrorCode[];

/** Errors of any request whose body is read. */
export const bodyErrors = ['body_too_large', 'unsupported_media_type'] as const satisfies readonly ErrorCode[];

/** Methods whose body is read, also where the endpoint expects none. */
const hasReadableBody = ({ method }: Pick<Endpoint, 'method'>): boolean => method !== 'GET';

/** Whether view links open endpoints of this auth class. A person who opens one in a browser gets errors as a page. */
export const acceptsLinks = (auth: Auth): boolean => auth === 'view' || auth === 'vnc' || auth === 'recording' || auth === 'report';

/** Whether the owner's API key opens it, too. */
export const acceptsLinksAndKeys = (auth: Auth): boolean => auth === 'recording' || auth === 'report';

/** Whether an `Idempotency-Key` is honoured. Keys belong to a caller, so the endpoint must authenticate it. */
export const acceptsIdempotencyKey = ({ method, auth }: Endpoint): boolean => method === 'POST' && auth !== 'none';

/** Whether a schema has no fields and drops all others, so that nothing of its values is used, and nothing is refused. */
export const ignoresAll = (schema: z.ZodType | undefined): boolean =>
  schema instanceof z.ZodObject && schema.def.catchall === undefined && Object.keys(schema.shape).length === 0;

/** Errors of any call with a credential, beside those of the credential itself. */
export const callerErrors = ['rate_limited', 'store_unavailable', 'worker_unreachable'] as const satisfies readonly ErrorCode[];

/** All error codes of an endpoint, including the implied ones. Besides, 422 of a request that breaks a schema. */
export function errorsOf(endpoint: Endpoint): ErrorCode[] {
  const implied: ErrorCode[] = [...commonErrors, ...authErrors[endpoint.auth]];
  if (acceptsIdempotencyKey(endpoint)) implied.push('idempotency_conflict', 'idempotency_in_progress');
  if (endpoint.cost) implied.push('insufficient_credits', 'plan_limit_exceeded');
  if (endpoint.cost && acceptsIdempotencyKey(endpoint)) implied.push('answer_lost');
  // The session may run on another worker, and a worker that has no room asks others.
  if (endpoint.path.includes('{session_id}') || endpoint.errors.includes('session_not_ready') || endpoint.cost)
    implied.push('worker_unreachable');
  if (hasReadableBody(endpoint)) implied.push(...bodyErrors);
  return [...new Set([...endpoint.errors, ...implied])];
}
