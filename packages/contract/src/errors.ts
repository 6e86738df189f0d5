import { z } from 'zod';

/**
 * Every code the service can answer with, the status it travels under, and
 * whether the same request may succeed later without a change.
 *
 * 422 is not here: its body is a list of faults, see {@link ValidationError}.
 */
export const errors = {
  bad_request: { status: 400, retryable: false },
  invalid_signature: { status: 400, retryable: false },
  missing_api_key: { status: 401, retryable: false },
  missing_admin_key: { status: 401, retryable: false },
  missing_view_token: { status: 401, retryable: false },
  missing_login_token: { status: 401, retryable: false },
  invalid_login_token: { status: 401, retryable: false },
  missing_metrics_token: { status: 401, retryable: false },
  insufficient_credits: { status: 402, retryable: false },
  plan_limit_exceeded: { status: 402, retryable: false },
  invalid_api_key: { status: 403, retryable: false },
  invalid_admin_key: { status: 403, retryable: false },
  invalid_connect_token: { status: 403, retryable: false },
  invalid_view_token: { status: 403, retryable: false },
  invalid_metrics_token: { status: 403, retryable: false },
  origin_not_allowed: { status: 403, retryable: false },
  premium_egress_required: { status: 403, retryable: false },
  session_not_found: { status: 404, retryable: false },
  tab_not_found: { status: 404, retryable: false },
  job_not_found: { status: 404, retryable: false },
  download_not_found: { status: 404, retryable: false },
  key_not_found: { status: 404, retryable: false },
  code_not_found: { status: 404, retryable: false },
  recording_not_found: { status: 404, retryable: false },
  asset_not_found: { status: 404, retryable: false },
  route_not_found: { status: 404, retryable: false },
  method_not_allowed: { status: 405, retryable: false },
  request_timeout: { status: 408, retryable: true },
  download_not_ready: { status: 409, retryable: true },
  upload_limit_reached: { status: 409, retryable: false },
  last_tab: { status: 409, retryable: false },
  tab_limit_reached: { status: 409, retryable: false },
  session_busy: { status: 409, retryable: true },
  session_ended: { status: 409, retryable: false },
  session_not_ready: { status: 409, retryable: true },
  name_taken: { status: 409, retryable: false },
  code_already_redeemed: { status: 409, retryable: false },
  plan_active: { status: 409, retryable: false },
  no_subscription: { status: 409, retryable: false },
  key_limit_reached: { status: 409, retryable: false },
  key_revoked: { status: 409, retryable: false },
  vnc_unavailable: { status: 409, retryable: false },
  idempotency_conflict: { status: 409, retryable: false },
  idempotency_in_progress: { status: 409, retryable: true },
  code_expired: { status: 410, retryable: false },
  job_expired: { status: 410, retryable: false },
  body_too_large: { status: 413, retryable: false },
  uri_too_long: { status: 414, retryable: false },
  unsupported_media_type: { status: 415, retryable: false },
  range_not_satisfiable: { status: 416, retryable: false },
  rate_limited: { status: 429, retryable: true },
  too_many_streams: { status: 429, retryable: true },
  concurrency_limit: { status: 429, retryable: true },
  create_rate_limit: { status: 429, retryable: true },
  headers_too_large: { status: 431, retryable: false },
  internal_error: { status: 500, retryable: true },
  navigation_failed: { status: 502, retryable: true },
  page_failed: { status: 502, retryable: true },
  billing_provider_failed: { status: 502, retryable: true },
  session_lost: { status: 502, retryable: false },
  no_capacity: { status: 503, retryable: true },
  draining: { status: 503, retryable: true },
  billing_not_configured: { status: 503, retryable: false },
  login_unavailable: { status: 503, retryable: true },
  store_unavailable: { status: 503, retryable: true },
  deadline_exceeded: { status: 504, retryable: true },
} as const satisfies Record<string, { status: number; retryable: boolean }>;

export type ErrorCode = keyof typeof errors;

/** Why a navigation failed, in `error.details.reason` of a 502 `navigation_failed`. */
export const navigationFailures = [
  'dns_failed',
  'connection_refused',
  'connection_reset',
  'tls_error',
  'timeout',
  'proxy_error',
  'aborted',
  'blocked_by_policy',
  'too_many_redirects',
  'page_crashed',
] as const;
export type NavigationFailure = (typeof navigationFailures)[number];

export interface ServiceErrorOptions {
  /** What only the log reads. */
  internal?: string;
  cause?: unknown;
  /** Facts for programs, told to the caller under `error.details`. */
  details?: Record<string, unknown>;
  /** When waiting helps: the least time to wait, told in `Retry-After`. */
  retryAfterSeconds?: number;
  /** Where one case of a code differs from its row in the table. */
  retryable?: boolean;
}

/** The one way a request fails for a reason that the caller is told. */
export class ServiceError extends Error {
  readonly code: ErrorCode;
  /** What the caller reads: what happened, and what to change. */
  readonly publicMessage: string;
  readonly details: Record<string, unknown>;
  readonly retryAfterSeconds: number | undefined;
  readonly retryable: boolean;

  constructor(code: ErrorCode, publicMessage: string, options: ServiceErrorOptions = {}) {
    super(options.internal ?? publicMessage, { cause: options.cause });
    this.name = 'ServiceError';
    this.code = code;
    this.publicMessage = publicMessage;
    this.details = options.details ?? {};
    this.retryAfterSeconds = options.retryAfterSeconds;
    this.retryable = options.retryable ?? errors[code].retryable;
  }

  get status(): number {
    return errors[this.code].status;
  }
}

/** One fault of a request: where it is, what is wrong, and what was found there. */
export const Fault = z
  .object({
    loc: z.array(z.string()).meta({ description: 'First `body`, `query`, `path` or `header`, then the way to the fault.' }),
    msg: z.string(),
    type: z.string().meta({ examples: ['missing', 'int_parsing', 'less_than_equal', 'extra_forbidden'] }),
    input: z.unknown(),
    ctx: z.record(z.string(), z.unknown()),
  })
  .meta({ id: 'Fault' });
export type Fault = z.infer<typeof Fault>;

export const ValidationBody = z.object({ detail: z.array(Fault) }).meta({ id: 'ValidationBody' });
export type ValidationBody = z.infer<typeof ValidationBody>;

/** A request that breaks its schema, or a bound that only the owner's plan knows: answered 422. */
export class ValidationError extends Error {
  readonly detail: Fault[];

  constructor(detail: Fault[]) {
    super(detail.map((fault) => `${fault.loc.join('.')}: ${fault.msg}`).join('; '));
    this.name = 'ValidationError';
    this.detail = detail;
  }
}

export const ErrorBody = z
  .object({
    error: z.object({
      code: z.enum(Object.keys(errors) as [ErrorCode, ...ErrorCode[]]),
      message: z.string(),
      retryable: z.boolean(),
      request_id: z.string(),
      details: z.record(z.string(), z.unknown()),
    }),
    code: z.string(),
    detail: z.string().meta({ description: 'The same as `error.message`.' }),
  })
  .meta({ id: 'ErrorBody' });
export type ErrorBody = z.infer<typeof ErrorBody>;
