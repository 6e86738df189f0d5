/** One page turned into what the caller asked for, at once or as a job. */
import { z } from 'zod';
import { ImageFormat, Link, PdfOptions, Picture, actionsTimeoutMs } from './actions.ts';
import { Block, Captcha, blockTypes } from './block.ts';
import { BlockDetection, WaitUntil } from './drive.ts';
import { endpoint } from './endpoint.ts';
import { PathId, Timestamp, WebUrl } from './fields.ts';
import { WorkError, WorkUsage, jobStatuses, pollDeadlineMs, waitQuery } from './jobs.ts';
import { strategyNames } from './selfheal.ts';
import { HeaderMap, Metadata, ProxyRequest, resourceTypes } from './session-request.ts';
import { Pattern, Selector as StepSelector } from './step-fields.ts';
import { StepResult, Steps } from './steps.ts';

export const fetchFormats = ['html', 'raw', 'markdown', 'text', 'links', 'metadata', 'screenshot', 'pdf', 'json', 'tables', 'har'] as const;
export type FetchFormat = (typeof fetchFormats)[number];
export const fetchModes = ['browser', 'http', 'auto'] as const;
export const retryReasons = ['blocked', 'timeout', 'proxy_error', '5xx'] as const;

const Selector = z.string().min(1).max(2000);

export const ExtractField = z
  .strictObject({
    selector: Selector,
    attr: z
      .string()
      .min(1)
      .max(100)
      .optional()
      .meta({ description: 'An attribute instead of the text; `href` and `src` come as whole addresses.' }),
    type: z.enum(['text', 'html', 'number', 'url', 'date', 'boolean']).default('text'),
    list: z.boolean().default(false).meta({ description: 'All matches instead of the first.' }),
  })
  .meta({ id: 'ExtractField' });
export type ExtractField = z.infer<typeof ExtractField>;

export const FetchRequest = z
  .strictObject({
    url: WebUrl,
    formats: z.array(z.enum(fetchFormats)).min(1).max(fetchFormats.length).default(['html', 'metadata']),
    mode: z.enum(fetchModes).default('browser').meta({
      description:
        '`browser`: a page in a browser. `http`: one plain request, no scripts run. `auto`: http first, a browser where the page needs one.',
    }),
    method: z
      .enum(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])
      .default('GET')
      .meta({ description: 'Other than GET only with `mode: http`.' }),
    body: z.string().max(2_000_000).nullable().default(null).meta({ description: 'Only with `mode: http`.' }),
    headers: HeaderMap.default({}),
    cookies: z
      .array(
        z.strictObject({
          name: z
            .string()
            .min(1)
            .max(256)
            .regex(/^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/),
          value: z
            .string()
            .max(4096)
            .regex(/^[\x21-\x3a\x3c-\x7e]*$/),
          domain: z.string().min(1).max(253).optional().meta({ description: 'The host of `url` when absent.' }),
          path: z.string().min(1).max(1024).regex(/^\//).default('/'),
        }),
      )
      .max(100)
      .default([]),
    session_id: z
      .string()
      .max(200)
      .nullable()
      .default(null)
      .meta({ description: 'Fetch in this session’s active tab, with its cookies and its way out.' }),
    region: z.string().max(64).optional(),
    proxy: ProxyRequest.nullable().default(null),
    kind: z.enum(['headless']).default('headless'),
    wait_until: WaitUntil.default('load'),
    wait_for: z
      .strictObject({
        selector: StepSelector.optional(),
        text: Pattern.optional(),
        ms: z.int().min(0).max(30_000).optional(),
      })
      .nullable()
      .default(null),
    timeout_ms: z.int().min(1000).max(actionsTimeoutMs.most).default(30_000).meta({ description: 'The whole budget, retries and all.' }),
    actions: Steps.default([]),
    only_main_content: z.boolean().default(false),
    include_selectors: z.array(Selector).max(50).default([]),
    exclude_selectors: z.array(Selector).max(50).default([]),
    extract: z
      .strictObject({ fields: z.record(z.string().min(1).max(64), ExtractField) })
      .nullable()
      .default(null)
      .meta({ description: 'Comes as `json`.' }),
    screenshot: z
      .strictObject({
        full_page: z.boolean().default(true),
        format: ImageFormat.default('png'),
        quality: z.int().min(1).max(100).optional(),
        selector: StepSelector.optional(),
        scroll_first: z.boolean().default(true),
      })
      .nullable()
      .default(null),
    pdf: PdfOptions.nullable().default(null),
    block_ads: z.boolean().default(false),
    block_resources: z.array(z.enum(resourceTypes)).max(resourceTypes.length).default([]),
    retry: z
      .strictObject({
        max_attempts: z.int().min(1).max(5).default(2),
        on: z
          .array(z.enum(retryReasons))
          .max(retryReasons.length)
          .default([...retryReasons]),
        force: z.boolean().default(false).meta({ description: 'Also while the site is in a cooldown.' }),
      })
      .prefault({}),
    block_detection: BlockDetection.default('default'),
    respect_robots: z.boolean().default(false),
    async: z.boolean().default(false),
    metadata: Metadata.default({}),
  })
  .check((context) => {
    const { mode, method, body, session_id: session, region, proxy, actions, formats } = context.value;
    const fault = (path: string, message: string) =>
      context.issues.push({ code: 'custom', message, path: [path], input: context.value[path as 'url'], params: { type: 'value_error' } });
    if (mode !== 'http' && method !== 'GET') fault('method', 'A browser fetches by GET; other methods need `mode: http`');
    if (mode !== 'http' && body !== null) fault('body', 'A body needs `mode: http`');
    if (body !== null && (method === 'GET' || method === 'HEAD')) fault('body', `A ${method} request has no body`);
    if (session !== null && mode !== 'browser') fault('session_id', 'A session is a browser: leave `mode` at `browser`');
    if (session !== null && region !== undefined) fault('region', 'The session has its region already');
    if (session !== null && proxy !== null) fault('proxy', 'The session has its way out already');
    if (mode === 'http' && actions.length > 0) fault('actions', 'Actions need a browser');
    if (mode === 'http') for (const format of formats.filter(needsBrowser)) fault('formats', `\`${format}\` needs a browser`);
  })
  .meta({ id: 'FetchRequest' });
export type FetchRequest = z.infer<typeof FetchRequest>;

const needsBrowser = (format: FetchFormat): boolean => format === 'screenshot' || format === 'pdf' || format === 'har';

export const Bytes = z
  .object({
    data_base64: z.string(),
    content_type: z.string().nullable(),
    bytes: z.int(),
    filename: z.string().nullable().meta({ description: 'From `Content-Disposition`, made harmless.' }),
    truncated: z.boolean(),
  })
  .meta({ id: 'Bytes' });

export const FetchAttempt = z
  .object({
    n: z.int(),
    started_at: Timestamp,
    strategy: z.enum(strategyNames),
    mode: z.enum(['browser', 'http']),
    egress: z.object({ type: z.string(), country: z.string().nullable() }),
    kind: z.string(),
    status_code: z.int().nullable(),
    status: z.enum(['ok', 'blocked', 'error']),
    block_type: z.enum(blockTypes).nullable(),
    error_code: z.string().nullable(),
    duration_ms: z.int(),
  })
  .meta({ id: 'FetchAttempt' });

export const FetchResult = z
  .object({
    status: z.enum(jobStatuses),
    job_id: z.string(),
    session_id: z.string().nullable().meta({ description: 'The machine that fetched; null where no browser did.' }),
    poll_url: z.string().nullable().meta({ description: 'Of a job that is asked after.' }),
    url: z.string(),
    final_url: z.string().nullable(),
    redirects: z.array(z.object({ url: z.string(), status_code: z.int() })),
    status_code: z.int().nullable().meta({ description: 'The real one, of the last response for the page itself.' }),
    headers: z.record(z.string(), z.string()).meta({ description: 'Without `set-cookie`.' }),
    content_type: z.string().nullable(),
    title: z.string().nullable(),
    html: z.string().nullable(),
    raw: Bytes.nullable().meta({ description: 'The bytes as they came: for `raw`, and for all that is no page.' }),
    markdown: z.string().nullable(),
    text: z.string().nullable(),
    links: z.array(Link).nullable(),
    page: z
      .object({
        title: z.string().nullable(),
        description: z.string().nullable(),
        language: z.string().nullable(),
        canonical: z.string().nullable(),
        favicon: z.string().nullable(),
        open_graph: z.record(z.string(), z.string()),
        json_ld: z.array(z.unknown()),
      })
      .nullable(),
    screenshot: Picture.nullable(),
    pdf: Bytes.nullable(),
    json: z.unknown().meta({ description: 'The extracted fields, or a JSON document itself.' }),
    tables: z
      .array(z.object({ caption: z.string().nullable(), headers: z.array(z.string()), rows: z.array(z.array(z.string())) }))
      .nullable(),
    har: z.object({ log: z.record(z.string(), z.unknown()) }).nullable(),
    actions: z.array(StepResult),
    block: Block.nullable(),
    captcha: Captcha.nullable(),
    attempts: z.array(FetchAttempt),
    resolved_by: z.string().nullable().meta({
      description:
        'What brought the answer: mode and strategy, such as `browser:direct`; for `auto` also why, such as `browser:direct:needs_script`.',
    }),
    timings: z.object({
      queue_ms: z.int(),
      session_ms: z.int(),
      ttfb_ms: z.int().nullable(),
      load_ms: z.int().nullable(),
      total_ms: z.int(),
    }),
    bytes: z
      .object({ in: z.int(), out: z.int() })
      .meta({ description: 'On the wire. In a machine that fetches several pages at once, these are those of the page’s own requests.' }),
    usage: WorkUsage,
    warnings: z.array(z.string()),
    error: WorkError.nullable(),
    metadata: Metadata,
    created_at: Timestamp,
    finished_at: Timestamp.nullable(),
  })
  .meta({ id: 'FetchResult' });
export type FetchResponse = z.infer<typeof FetchResult>;

const bodyLimitBytes = 4 * 1024 * 1024;

export const fetchPage = endpoint({
  id: 'fetchPage',
  method: 'POST',
  path: '/v1/fetch',
  tag: 'Fetch',
  summary: 'Turn a page into what you need',
  description:
    '200 for `ok`, `blocked` and `error` alike, so that an answer at once and a polled one are one shape. With `async` the answer is `pending`, with `Location` and `Retry-After`.',
  auth: 'bearer',
  body: FetchRequest,
  reply: FetchResult,
  replyHeaders: { Location: 'Where to poll, with `async`.', 'Retry-After': 'When to poll first, with `async`.' },
  status: 200,
  errors: [
    'session_not_found',
    'session_not_ready',
    'session_ended',
    'session_busy',
    'premium_egress_required',
    'concurrency_limit',
    'no_capacity',
    'draining',
    'store_unavailable',
    'deadline_exceeded',
  ],
  cost: 'action',
  deadlineMs: actionsTimeoutMs.most + 60_000,
  bodyLimitBytes,
});

export const getFetchJob = endpoint({
  id: 'getFetchJob',
  method: 'GET',
  path: '/v1/fetch/job/{job_id}',
  tag: 'Fetch',
  summary: 'What a fetch came to, or that it still runs',
  auth: 'bearer',
  params: z.object({ job_id: PathId }),
  query: waitQuery,
  reply: FetchResult,
  status: 200,
  errors: ['job_not_found', 'job_expired', 'store_unavailable', 'deadline_exceeded'],
  deadlineMs: pollDeadlineMs,
});
