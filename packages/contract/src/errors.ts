import { z } from 'zod';

/**
 * Every error code of the API: its HTTP status, whether the same request may
 * succeed later without a change, and when it occurs and what to do.
 *
 * 422 is not here: its body is a list of issues, see {@link ValidationError}.
 */
export const errors = {
  bad_request: {
    status: 400,
    retryable: false,
    description: 'The request is not well-formed HTTP, or not a valid WebSocket handshake. Correct the request.',
  },
  unknown_task: {
    status: 400,
    retryable: false,
    description: 'No flow has this name. `details.available` lists the names; see `GET /v1/agent/tasks`.',
  },
  unknown_template: {
    status: 400,
    retryable: false,
    description: 'No template has this name. `details.available` lists the names; see `GET /v1/templates`.',
  },
  invalid_signature: {
    status: 400,
    retryable: false,
    description: 'The signature of a billing event is missing, wrong or too old. Check the signing secret of the webhook.',
  },
  missing_api_key: { status: 401, retryable: false, description: 'The request has no API key. Send it as `Authorization: Bearer KEY`.' },
  missing_admin_key: { status: 401, retryable: false, description: 'The request has no admin key. Send it in the header `x-admin-key`.' },
  missing_view_token: {
    status: 401,
    retryable: false,
    description: 'The request has neither a view token nor its cookie. Open a complete link from `view-token` or `vnc-token`.',
  },
  missing_login_token: {
    status: 401,
    retryable: false,
    description: 'The request has no login token. Send it as `Authorization: Bearer TOKEN`.',
  },
  invalid_login_token: { status: 401, retryable: false, description: 'The login token is invalid or has expired. Sign in again.' },
  missing_metrics_token: {
    status: 401,
    retryable: false,
    description: 'The request has no metrics token. Send it as `Authorization: Bearer TOKEN`.',
  },
  insufficient_credits: {
    status: 402,
    retryable: false,
    description: 'The wallet does not cover the call. Redeem a credit code, or ask the operator for credits.',
  },
  plan_limit_exceeded: {
    status: 402,
    retryable: false,
    description: 'A monthly limit of the plan is reached; `details` has the limit. Wait for the next month, or change the plan.',
  },
  invalid_api_key: {
    status: 403,
    retryable: false,
    description: 'The API key is unknown, malformed, expired or revoked. Send a valid one as `Authorization: Bearer KEY`.',
  },
  invalid_admin_key: { status: 403, retryable: false, description: 'The admin key is wrong. Check the operator’s configuration.' },
  invalid_connect_token: {
    status: 403,
    retryable: false,
    description:
      'The token in the URL is wrong, expired, revoked or of another session, or it is an API key. Create one with ' +
      '`POST /v1/connect-tokens`, or get one for a session with `GET …/connect`.',
  },
  invalid_sign_in_link: {
    status: 403,
    retryable: false,
    description:
      'The sign-in link was used, has expired, or is not whole. A new one is printed by each start of the service in a terminal ' +
      '(`npm start`), and by the command line (`berth login --link`). Or paste a key.',
  },
  invalid_view_token: {
    status: 403,
    retryable: false,
    description: 'The view token is wrong, expired, revoked or of another purpose. Create a new link.',
  },
  invalid_metrics_token: { status: 403, retryable: false, description: 'The metrics token is wrong. Check the operator’s configuration.' },
  origin_not_allowed: {
    status: 403,
    retryable: false,
    description: 'A page of another origin sent the request. Use a page of this service, or a client that is not a browser.',
  },
  premium_egress_required: {
    status: 403,
    retryable: false,
    description: 'The plan does not include this type of proxy. Change the plan, or use another proxy type.',
  },
  session_not_found: {
    status: 404,
    retryable: false,
    description: 'No session with this id exists for your key. It may have been deleted after its retention period.',
  },
  tab_not_found: { status: 404, retryable: false, description: 'The session has no tab with this id. List the open tabs.' },
  ref_not_found: {
    status: 404,
    retryable: false,
    description: 'No snapshot of the tab has this reference. Take a snapshot and use one of its references.',
  },
  job_not_found: { status: 404, retryable: false, description: 'No job with this id exists for your key. Check the id.' },
  download_not_found: {
    status: 404,
    retryable: false,
    description: 'The session has no such download, or its file no longer exists. List the downloads.',
  },
  connect_token_not_found: { status: 404, retryable: false, description: 'You have no connect token with this id. List your tokens.' },
  profile_not_found: {
    status: 404,
    retryable: false,
    description: 'You have no profile with this id or name. List your profiles, or create it with a session that has `save_changes`.',
  },
  skill_not_found: { status: 404, retryable: false, description: 'You have no skill with this id. List your skills.' },
  owner_not_found: { status: 404, retryable: false, description: 'No owner with this id exists. Check the id.' },
  worker_not_found: { status: 404, retryable: false, description: 'No worker with this id shares the database. List the workers.' },
  key_not_found: { status: 404, retryable: false, description: 'No API key with this id exists. List the keys.' },
  code_not_found: { status: 404, retryable: false, description: 'The code is unknown. Check it for typing errors.' },
  recording_not_found: {
    status: 404,
    retryable: false,
    description: 'The session has no such recording. Create sessions with `record: true` to record them.',
  },
  asset_not_found: { status: 404, retryable: false, description: 'The requested file does not exist. For a recording, see `assets`.' },
  route_not_found: { status: 404, retryable: false, description: 'No endpoint matches the request. Check the method and path.' },
  method_not_allowed: {
    status: 405,
    retryable: false,
    description: 'The endpoint does not support the method. Use one of the methods in the `Allow` header.',
  },
  request_timeout: { status: 408, retryable: true, description: 'The request took too long to arrive. Send it again.' },
  download_not_ready: {
    status: 409,
    retryable: true,
    description: 'The download is still in progress. Wait for its `download.finished` event.',
  },
  stale_ref: {
    status: 409,
    retryable: false,
    description:
      'The element of the reference is no longer in the page, or has become another one. Take a new snapshot; `details.candidates` has what is most like it.',
  },
  upload_limit_reached: {
    status: 409,
    retryable: false,
    description: 'The session cannot store more uploaded files. Use the files it has, or create a new session.',
  },
  last_tab: { status: 409, retryable: false, description: 'The last tab of a session cannot be closed. End the session instead.' },
  tab_limit_reached: { status: 409, retryable: false, description: 'The session has its maximum number of tabs. Close a tab first.' },
  session_busy: { status: 409, retryable: true, description: 'Other calls keep the session busy. Try again when they have finished.' },
  session_ended: { status: 409, retryable: false, description: 'The session has ended; `details` has the reason. Create a new session.' },
  session_not_ready: {
    status: 409,
    retryable: true,
    description: 'The browser is still starting or does not respond. Try again after `Retry-After` seconds.',
  },
  report_not_available: {
    status: 409,
    retryable: true,
    description: 'The inspection has no report: it is still running, or it failed. Poll its job.',
  },
  name_taken: { status: 409, retryable: false, description: 'You have a live session with this name. End it, or choose another name.' },
  code_already_redeemed: { status: 409, retryable: false, description: 'The code has already been redeemed. Each code works once.' },
  plan_active: {
    status: 409,
    retryable: false,
    description: 'A plan or trial is already active. Change it in the billing portal, or wait until it ends.',
  },
  no_subscription: { status: 409, retryable: false, description: 'There is no subscription to manage. Buy a plan first.' },
  key_limit_reached: {
    status: 409,
    retryable: false,
    description: 'The maximum number of active API keys is reached. Revoke a key that you no longer use.',
  },
  connect_token_limit_reached: {
    status: 409,
    retryable: false,
    description: 'You have the maximum number of connect tokens. Revoke one that you no longer use.',
  },
  key_revoked: {
    status: 409,
    retryable: false,
    description: 'The API key has been revoked or has expired and cannot be rotated. Create a new one.',
  },
  vnc_unavailable: {
    status: 409,
    retryable: false,
    description: 'The session has no window to show. Create a session with `kind: full_browser`.',
  },
  profile_locked: {
    status: 409,
    retryable: false,
    description:
      'Another session, `details.session_id`, saves this profile when it ends. End it, or send no `save_changes`. If it is ending ' +
      'already, `error.retryable` is true: try again after `Retry-After` seconds.',
  },
  profile_unreadable: {
    status: 409,
    retryable: false,
    description:
      'The profile cannot be decrypted: it was encrypted with another key of the service, or changed. Delete it, and create it again.',
  },
  profile_limit_reached: {
    status: 409,
    retryable: false,
    description: 'You have the maximum number of profiles. Delete one that you no longer use.',
  },
  idempotency_conflict: {
    status: 409,
    retryable: false,
    description: 'The `Idempotency-Key` was used with a different request. Use a new key for each new request.',
  },
  idempotency_in_progress: {
    status: 409,
    retryable: true,
    description: 'A request with the same `Idempotency-Key` is still running. Try again later.',
  },
  answer_lost: {
    status: 409,
    retryable: false,
    description:
      'The first request with this `Idempotency-Key` was charged or had submitted a job, and its worker was lost before it answered; or its ' +
      'reply had more than 16 million characters, which are not stored. ' +
      '`details` has the `session_id` or `job_id` to read, if there is one. Use a new key to send the request again.',
  },
  code_expired: { status: 410, retryable: false, description: 'The code has expired. Ask for a new one.' },
  job_expired: { status: 410, retryable: false, description: 'The result of the job has been deleted. Start the job again.' },
  body_too_large: {
    status: 413,
    retryable: false,
    description: 'The request body exceeds the maximum size, which is in `details`. Send less.',
  },
  uri_too_long: { status: 414, retryable: false, description: 'The URL exceeds the maximum length, which is in `details`. Shorten it.' },
  unsupported_media_type: {
    status: 415,
    retryable: false,
    description: 'The body has the wrong media type or is compressed. Send uncompressed JSON with `Content-Type: application/json`.',
  },
  range_not_satisfiable: {
    status: 416,
    retryable: false,
    description: 'The requested range lies outside the file. See `Content-Range` for its size.',
  },
  rate_limited: {
    status: 429,
    retryable: true,
    description: 'Too many requests. Wait for `Retry-After` seconds. The workers of a fleet count together, within a second.',
  },
  too_many_streams: { status: 429, retryable: true, description: 'The session has its maximum number of event streams. Close one first.' },
  concurrency_limit: {
    status: 429,
    retryable: true,
    description: 'You have as many live sessions as the plan allows, exactly, at all workers. End one first, or change the plan.',
  },
  create_rate_limit: {
    status: 429,
    retryable: true,
    description:
      'You have created as many sessions in the last minute as the plan allows. Wait for `Retry-After` seconds. The workers of a ' +
      'fleet count together, within a second.',
  },
  headers_too_large: {
    status: 431,
    retryable: false,
    description: 'The request headers exceed the maximum size. Send fewer or shorter headers.',
  },
  internal_error: {
    status: 500,
    retryable: true,
    description: 'An internal error occurred. Try again; if it persists, send the request id to the operator.',
  },
  not_implemented: {
    status: 501,
    retryable: false,
    description: 'The service does not support the method or the `Transfer-Encoding`. Send the body in chunks without a further coding.',
  },
  navigation_failed: {
    status: 502,
    retryable: true,
    description: 'The page could not be loaded; `details.reason` has the cause. Check the URL, or try again.',
  },
  page_failed: { status: 502, retryable: true, description: 'The page crashed or did not respond. Reload it, or try again.' },
  billing_provider_failed: {
    status: 502,
    retryable: true,
    description: 'The payment provider refused the request or did not respond. Try again.',
  },
  session_lost: { status: 502, retryable: false, description: 'The browser was lost during the call. Create a new session.' },
  no_capacity: {
    status: 503,
    retryable: true,
    description: 'No browser or no disk space is available now. Try again after `Retry-After` seconds.',
  },
  starting: { status: 503, retryable: true, description: 'The worker is starting. Try again after `Retry-After` seconds.' },
  draining: {
    status: 503,
    retryable: true,
    description: 'The worker takes no new work: it stops, or is drained or cordoned. Try again after `Retry-After` seconds.',
  },
  region_unavailable: {
    status: 503,
    retryable: false,
    description: 'Nothing can run in the region: it has no proxies, and no worker of the service is in it. Choose another region.',
  },
  billing_not_configured: { status: 503, retryable: false, description: 'Billing is not configured on this service. Ask the operator.' },
  login_unavailable: {
    status: 503,
    retryable: true,
    description: 'The identity provider cannot be reached. Try again after `Retry-After` seconds.',
  },
  store_unavailable: {
    status: 503,
    retryable: true,
    description: 'The database or the object storage is unavailable. Try again after `Retry-After` seconds.',
  },
  worker_unreachable: {
    status: 504,
    retryable: true,
    description: 'The session runs on another worker, which this one cannot reach now. Try again after `Retry-After` seconds.',
  },
  deadline_exceeded: {
    status: 504,
    retryable: true,
    description: 'The call did not finish within its deadline. Try again, with a smaller task or a longer timeout.',
  },
} as const satisfies Record<string, { status: number; retryable: boolean; description: string }>;

export type ErrorCode = keyof typeof errors;

/** Statuses by which the service asks to wait. Their errors always say for how long, where a retry can help. */
const waitingStatuses: readonly number[] = [429, 503];
const retryAfterSecondsDefault = 1;

/** Why a navigation failed, in `error.details.reason` of a 502 `navigation_failed`. */
export const navigationFailures = [
  'dns_failed',
  'connection_refused',
  'connection_reset',
  'tls_error',
  'timeout',
  'proxy_error',
  'aborted',
  'download',
  'blocked_by_policy',
  'too_many_redirects',
  'page_crashed',
] as const;
export type NavigationFailure = (typeof navigationFailures)[number];

const permanentFailures: readonly string[] = [
  'blocked_by_policy',
  'download',
  'tls_error',
  'too_many_redirects',
] satisfies NavigationFailure[];

/**
 * A name that does not exist, unlike a resolver that does not answer; a proxy that refuses its credentials; a body that is not
 * compressed as its head says.
 */
const permanentNetErrors: readonly string[] = [
  'net::ERR_NAME_NOT_RESOLVED',
  'net::ERR_PROXY_AUTH_UNSUPPORTED',
  'net::ERR_CONTENT_DECODING_FAILED',
];

/** Whether a navigation that failed for this reason, with this error of the network, may succeed later without a change. */
export const isRetryableFailure = (reason: string, netError: string | null): boolean =>
  !permanentFailures.includes(reason) && !permanentNetErrors.includes(netError ?? '');

export interface ServiceErrorOptions {
  /** Message for the log only. Default: the public message. */
  internal?: string;
  cause?: unknown;
  /** Data for programs, sent as `error.details`. */
  details?: Record<string, unknown>;
  /** Minimum time to wait before a retry, sent as `Retry-After` where a retry can help. */
  retryAfterSeconds?: number;
  /** Overrides the value of the error table. */
  retryable?: boolean;
}

/** An error whose code and message are sent to the client. */
export class ServiceError extends Error {
  readonly code: ErrorCode;
  /** What is wrong and what to do, for the client. */
  readonly publicMessage: string;
  readonly details: Record<string, unknown>;
  /** Whether the same request may succeed later. `Retry-After` and `x-should-retry` follow from it. */
  readonly retryable: boolean;
  /** Delay before a retry, in whole seconds. Set only where a retry can help: always for 429 and 503, else where it is known. */
  readonly retryAfterSeconds: number | undefined;

  constructor(code: ErrorCode, publicMessage: string, options: ServiceErrorOptions = {}) {
    super(options.internal ?? publicMessage, { cause: options.cause });
    this.name = 'ServiceError';
    this.code = code;
    this.publicMessage = publicMessage;
    this.details = options.details ?? {};
    this.retryable = options.retryable ?? errors[code].retryable;
    const seconds = options.retryAfterSeconds ?? (waitingStatuses.includes(this.status) ? retryAfterSecondsDefault : undefined);
    this.retryAfterSeconds = this.retryable && seconds !== undefined ? Math.max(1, Math.ceil(seconds)) : undefined;
  }

  get status(): number {
    return errors[this.code].status;
  }
}

/** One error of a request that breaks its schema. */
export const ValidationIssue = z
  .object({
    loc: z.array(z.string()).describe('Location of the error: first `body`, `query`, `path` or `header`, then the path to the field.'),
    msg: z.string().describe('What is wrong.'),
    type: z
      .string()
      .meta({ description: 'Type of the error.', examples: ['missing', 'int_parsing', 'less_than_equal', 'extra_forbidden'] }),
    input: z.unknown().describe('The value that was sent.'),
    ctx: z.record(z.string(), z.unknown()).describe('Further data about the error, such as the bound that was exceeded.'),
    hint: z
      .string()
      .optional()
      .meta({ description: 'What to change, where the service can guess it.', examples: ['Did you mean `timeout_seconds`?'] }),
  })
  .meta({ id: 'ValidationIssue' });
export type ValidationIssue = z.infer<typeof ValidationIssue>;

/** Maximum number of issues in a 422. The others are counted. */
export const issuesMax = 100;

export const ValidationBody = z
  .object({
    detail: z.array(ValidationIssue).max(issuesMax).describe(`Errors of the request: all of them, or the first ${issuesMax}.`),
    omitted: z
      .int()
      .min(1)
      .optional()
      .describe('Number of further errors that were found. Absent if `detail` has all of them. Lists stop after some thousand.'),
    error: z
      .object({
        code: z.literal('validation_error').describe('Always `validation_error`.'),
        message: z.string().describe('The first error and its location, and the number of the others.'),
        hint: z.string().nullable().describe('The first hint of `detail`; null without one.'),
        retryable: z.literal(false).describe('Always false: correct the request.'),
        request_id: z.string().describe('Id of the request, the same as in `X-Request-Id`.'),
        details: z.record(z.string(), z.unknown()).describe('Empty: `detail` has the errors.'),
      })
      .describe('The error in the form of all other errors.'),
    code: z.literal('validation_error').describe('The same as `error.code`.'),
  })
  .meta({ id: 'ValidationBody' });
export type ValidationBody = z.infer<typeof ValidationBody>;

/** A request that breaks its schema, or a limit of the owner's plan. The response status is 422. */
export class ValidationError extends Error {
  readonly detail: ValidationIssue[];
  /** Number of issues that `detail` does not have. */
  readonly omitted: number;

  /** `omitted`: number of issues beside `detail`, of which at most {@link issuesMax} are retained. */
  constructor(detail: ValidationIssue[], omitted = 0) {
    const shown = detail.slice(0, issuesMax);
    super(shown.map(({ loc, msg }) => `${loc.join('.')}: ${msg}`).join('; '));
    this.name = 'ValidationError';
    this.detail = shown;
    this.omitted = omitted + detail.length - shown.length;
  }

  toBody(requestId: string): ValidationBody {
    const { detail, omitted } = this;
    const code = 'validation_error';
    const hint = detail.find((issue) => issue.hint !== undefined)?.hint ?? null;
    const error = { code, message: this.#summary(hint), hint, retryable: false, request_id: requestId, details: {} } as const;
    return { detail, ...(omitted === 0 ? {} : { omitted }), error, code };
  }

  #summary(hint: string | null): string {
    const [first] = this.detail;
    if (!first) return 'The request is not valid.';
    const others = this.detail.length + this.omitted - 1;
    const count = others === 0 ? '' : ` (and ${others} more)`;
    return `${first.loc.join('.')}: ${first.msg.replace(/\.$/, '')}${count}.${hint === null ? '' : ` ${hint}`}`;
  }
}

export const ErrorBody = z
  .object({
    error: z
      .object({
        code: z.enum(Object.keys(errors) as [ErrorCode, ...ErrorCode[]]).describe('Error code.'),
        message: z.string().describe('What is wrong and what to do.'),
        retryable: z.boolean().describe('Whether the same request may succeed later without a change.'),
        request_id: z.string().describe('Id of the request, the same as in `X-Request-Id`.'),
        details: z.record(z.string(), z.unknown()).describe('Further data about the error; its fields depend on the code.'),
      })
      .describe('The error.'),
    code: z.string().describe('The same as `error.code`.'),
    detail: z.string().describe('The same as `error.message`.'),
  })
  .meta({ id: 'ErrorBody' });
export type ErrorBody = z.infer<typeof ErrorBody>;
