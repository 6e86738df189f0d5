/** Endpoints of fetch: a page in the requested formats, at once or as a job. */
import { z } from 'zod';
import { boundedList, boundedRecord, boundedString } from '../bounds.ts';
import { ImageFormat, Link, PdfOptions, Picture, actionsTimeoutMs } from '../steps/actions.ts';
import { Block, Captcha, blockTypes } from './block.ts';
import { BlockDetection, WaitUntil } from '../sessions/drive.ts';
import { endpoint } from '../endpoint.ts';
import { PathId, Timestamp, WebUrl } from '../fields.ts';
import { WorkError, WorkUsage, asyncReplyHeaders, jobStatuses, pollDeadlineMs, waitQuery, workErrors } from './jobs.ts';
import { WorkProfile } from '../sessions/profiles.ts';
import { strategyNames } from './selfheal.ts';
import { HeaderMap, Metadata, ProxyRequest, SessionKind, resourceTypes } from '../sessions/session-request.ts';
import { SnapshotMode, SnapshotOptions, snapshotTokens } from '../steps/snapshot-options.ts';
import { Pattern, Selector as StepSelector } from '../steps/step-fields.ts';
import { StepResult, Steps } from '../steps/steps.ts';

export const fetchFormats = [
  'html',
  'raw',
  'markdown',
  'text',
  'links',
  'metadata',
  'screenshot',
  'pdf',
  'json',
  'tables',
  'har',
  'snapshot',
] as const;
export type FetchFormat = (typeof fetchFormats)[number];
export const fetchModes = ['browser', 'http', 'auto'] as const;
export const retryReasons = ['blocked', 'timeout', 'proxy_error', '5xx'] as const;

const Selector = boundedString(1, 2000);

export const ExtractField = z
  .strictObject({
    selector: Selector.describe('CSS selector of the element, 1 to 2000 characters.'),
    attr: boundedString(1, 100)
      .optional()
      .describe('Attribute to read instead of the text. `href` and `src` are returned as absolute URLs.'),
    type: z.enum(['text', 'html', 'number', 'url', 'date', 'boolean']).default('text').describe('Type of the value. Default: `text`.'),
    list: z.boolean().default(false).describe('Whether to return all matches instead of the first. Default: `false`.'),
  })
  .meta({ id: 'ExtractField' });
export type ExtractField = z.infer<typeof ExtractField>;

export const FetchSnapshotOptions = z
  .strictObject({
    mode: SnapshotMode.default('full').describe(
      '`full`: texts, lists, tables and images, too. `interactive`: what can be operated, with headings, landmarks and messages. Default: `full`.',
    ),
    find: SnapshotOptions.shape.find,
    max_tokens: z
      .int()
      .min(snapshotTokens.min)
      .max(snapshotTokens.max)
      .default(snapshotTokens.max)
      .describe(
        `Maximum size in tokens, ${snapshotTokens.min} to ${snapshotTokens.max}, as far as they can be estimated. Default: ${snapshotTokens.max}.`,
      ),
    urls: SnapshotOptions.shape.urls,
  })
  .meta({ id: 'FetchSnapshotOptions' });

export const FetchRequest = z
  .strictObject({
    url: WebUrl.describe('URL to fetch, `http` or `https`, at most 8192 characters.'),
    formats: boundedList(z.enum(fetchFormats), fetchFormats.length)
      .min(1)
      .default(['html', 'metadata'])
      .describe('Formats to return. Default: `html` and `metadata`.'),
    mode: z
      .enum(fetchModes)
      .default('browser')
      .describe(
        'How to fetch. `browser`: load the page in a browser. `http`: send one plain request; JavaScript does not run. ' +
          '`auto`: `http` first, and a browser if the page needs one. Default: `browser`.',
      ),
    method: z
      .enum(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])
      .default('GET')
      .describe('HTTP method. Methods other than GET require `mode: http`. Default: `GET`.'),
    body: boundedString(0, 2_000_000)
      .nullable()
      .default(null)
      .describe('Request body, at most 2,000,000 characters. Requires `mode: http`. Default: null, none.'),
    headers: HeaderMap.default({}).describe(
      'Up to 20 HTTP headers to send. `Referer` is the referrer that scripts see too, and `User-Agent` what `navigator.userAgent` says. Default: none.',
    ),
    cookies: boundedList(
      z.strictObject({
        name: boundedString(1, 256)
          .regex(/^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/)
          .describe('Name of the cookie, 1 to 256 characters.'),
        value: boundedString(0, 4096)
          .regex(/^[\x21-\x3a\x3c-\x7e]*$/)
          .describe('Value of the cookie, at most 4096 characters.'),
        domain: boundedString(1, 253).optional().describe('Domain of the cookie. Default: the host of `url`.'),
        path: boundedString(1, 1024).regex(/^\//).default('/').describe('Path of the cookie. Default: `/`.'),
      }),
      100,
    )
      .default([])
      .describe('Up to 100 cookies to send. Default: none.'),
    session_id: boundedString(0, 200)
      .nullable()
      .default(null)
      .describe('Id of a session to fetch with: its active tab, cookies and egress are used. Default: null, a browser context of its own.'),
    region: boundedString(0, 64)
      .optional()
      .describe(
        'Region code from `GET /v1/regions`, from which the fetch’s traffic leaves. Default: the region of the worker ' +
          'that receives the request.',
      ),
    proxy: ProxyRequest.nullable()
      .default(null)
      .describe(
        'Proxy for the fetch. Default: null, the region’s egress: directly from the worker if it is in the region, else ' +
          'through one of the region’s managed proxies.',
      ),
    kind: SessionKind.default('headless').describe(
      'Kind of browser. `full_browser` has windows on a display, and takes longer to start. Requires `mode: browser` or ' +
        '`auto`. Default: `headless`.',
    ),
    profile: WorkProfile,
    wait_until: WaitUntil.default('load').describe(
      'Page event to wait for: `commit` (response received), `domcontentloaded`, `load` or `networkidle` (' +
        'no request open for half a second; event streams, WebSockets, media, beacons and requests that are open for longer than 5 seconds do not count). Default: `load`.',
    ),
    wait_for: z
      .strictObject({
        selector: StepSelector.optional().describe('Selector that must match an element.'),
        text: Pattern.optional().describe('Text that the page must show.'),
        ms: z.int().min(0).max(30_000).optional().describe('Milliseconds to wait, 0 to 30000.'),
      })
      .nullable()
      .default(null)
      .describe('Further conditions to wait for after the page event. Default: null, none.'),
    timeout_ms: z
      .int()
      .min(1000)
      .max(actionsTimeoutMs.max)
      .default(30_000)
      .describe(
        'Maximum time for the whole fetch including retries, in milliseconds, 1000 to 180000. Each attempt may use all ' +
          'that is left. Default: 30000.',
      ),
    actions: Steps.default([]).describe('Steps to run on the page before its content is read, at most 50. Default: none.'),
    only_main_content: z
      .boolean()
      .default(false)
      .describe('Whether to return only the main content of the page, without navigation and footer. Default: `false`.'),
    include_selectors: boundedList(Selector, 50)
      .default([])
      .describe('CSS selectors of the elements to keep, at most 50. Default: the whole page.'),
    exclude_selectors: boundedList(Selector, 50).default([]).describe('CSS selectors of elements to remove, at most 50. Default: none.'),
    extract: z
      .strictObject({
        fields: boundedRecord(boundedString(1, 64), ExtractField, 100).describe('The values to extract, by name, at most 100.'),
      })
      .nullable()
      .default(null)
      .describe('Values to extract from the page, returned in `json`. Default: null, none.'),
    screenshot: z
      .strictObject({
        full_page: z.boolean().default(true).describe('Whether to capture the full page instead of the visible area. Default: `true`.'),
        format: ImageFormat.default('png').describe('Image format. Default: `png`.'),
        quality: z.int().min(1).max(100).optional().describe('Image quality for `jpeg` and `webp`, 1 to 100. Default: 80.'),
        selector: StepSelector.optional().describe('Selector of a single element to capture.'),
        scroll_first: z
          .boolean()
          .default(true)
          .describe('Whether to scroll through a full page first, so that lazy-loaded images are present. Default: `true`.'),
      })
      .nullable()
      .default(null)
      .describe('Options of the `screenshot` format. Default: null, the defaults of each option.'),
    snapshot: FetchSnapshotOptions.nullable()
      .default(null)
      .describe('Options of the `snapshot` format. Default: null, the defaults of each option.'),
    pdf: PdfOptions.nullable().default(null).describe('Options of the `pdf` format. Default: null, the defaults of each option.'),
    block_ads: z
      .boolean()
      .default(false)
      .describe('Whether to refuse connections to known advertising and tracking hosts. Default: `false`.'),
    block_resources: boundedList(z.enum(resourceTypes), resourceTypes.length)
      .default([])
      .describe('Types of resources that the page does not load. Default: none.'),
    retry: z
      .strictObject({
        max_attempts: z.int().min(1).max(5).default(2).describe('Maximum number of attempts, 1 to 5. Default: 2.'),
        on: boundedList(z.enum(retryReasons), retryReasons.length)
          .default([...retryReasons])
          .describe('Results after which to retry. Default: all of them.'),
        ignore_cooldown: z.boolean().default(false).describe('Whether to fetch although the site is in a cooldown. Default: `false`.'),
      })
      .prefault({})
      .describe('When and how often to retry.'),
    block_detection: BlockDetection.default('default').describe(
      'How block pages are detected. `default`: on clear evidence. `strict`: also on weaker evidence. `off`: not at ' +
        'all. Default: `default`.',
    ),
    respect_robots: z.boolean().default(false).describe('Whether to respect the site’s robots.txt. Default: `false`.'),
    async: z.boolean().default(false).describe('Whether to return at once with a job to poll. Default: `false`.'),
    metadata: Metadata.default({}).describe('Up to 50 key-value pairs of your own, returned with the result. Default: none.'),
  })
  .check((context) => {
    const { mode, method, body, session_id: session, region, proxy, kind, profile, actions, formats } = context.value;
    const addIssue = (path: string, message: string) =>
      context.issues.push({ code: 'custom', message, path: [path], input: context.value[path as 'url'], params: { type: 'value_error' } });
    if (mode !== 'http' && method !== 'GET') addIssue('method', 'Methods other than GET require `mode: http`');
    if (mode !== 'http' && body !== null) addIssue('body', 'A body requires `mode: http`');
    if (body !== null && (method === 'GET' || method === 'HEAD')) addIssue('body', `A ${method} request cannot have a body`);
    if (session !== null && mode !== 'browser') addIssue('session_id', 'A session requires `mode: browser`');
    if (session !== null && region !== undefined) addIssue('region', 'The region is that of the session. Omit this field');
    if (session !== null && proxy !== null) addIssue('proxy', 'The egress is that of the session. Omit this field');
    if (session !== null && kind !== 'headless') addIssue('kind', 'The kind is that of the session. Omit this field');
    if (session !== null && profile !== null) addIssue('profile', 'The profile is that of the session. Omit this field');
    if (mode !== 'browser' && profile !== null) addIssue('profile', 'A profile requires `mode: browser`');
    if (mode === 'http' && kind !== 'headless') addIssue('kind', 'The mode `http` uses no browser. Use another mode');
    if (mode === 'http' && actions.length > 0) addIssue('actions', 'Actions require a browser. Use another mode');
    if (mode === 'http')
      for (const format of formats.filter((each) => browserFormats.has(each)))
        addIssue('formats', `\`${format}\` requires a browser. Use another mode`);
  })
  .meta({ id: 'FetchRequest' });
export type FetchRequest = z.infer<typeof FetchRequest>;

/** Formats that plain HTTP cannot return. */
export const browserFormats: ReadonlySet<FetchFormat> = new Set(['screenshot', 'pdf', 'har', 'snapshot'] as const);

export const Bytes = z
  .object({
    data_base64: z.string().describe('The bytes in base64.'),
    content_type: z.string().nullable().describe('Media type; null if unknown.'),
    bytes: z.int().describe('Size in bytes.'),
    filename: z.string().nullable().describe('File name from `Content-Disposition`, sanitized; null if there is none.'),
    truncated: z.boolean().describe('Whether the bytes were cut at the maximum size.'),
  })
  .meta({ id: 'Bytes' });

export const FetchAttempt = z
  .object({
    n: z.int().describe('Number of the attempt, from 1.'),
    started_at: Timestamp.describe('When the attempt started (RFC 3339, UTC).'),
    strategy: z.enum(strategyNames).describe('Strategy of the attempt.'),
    mode: z.enum(['browser', 'http']).describe('Whether a browser or plain HTTP was used.'),
    egress: z
      .object({
        type: z.string().describe('How traffic left: `direct`, or `managed`, `rotating` or `external` for proxies of this type.'),
        country: z.string().nullable().describe('Country of the egress that was used, ISO 3166-1 alpha-2; null if unknown.'),
      })
      .describe('Egress of the attempt.'),
    kind: z.string().describe('Kind of machine that was used.'),
    status_code: z.int().nullable().describe('HTTP status of the page; null if no response was received.'),
    status: z.enum(['ok', 'blocked', 'error']).describe('Result of the attempt.'),
    block_type: z.enum(blockTypes).nullable().describe('Type of block; null if the attempt was not blocked.'),
    error_code: z.string().nullable().describe('Error code; null if the attempt did not fail.'),
    duration_ms: z.int().describe('Duration of the attempt in milliseconds.'),
  })
  .meta({ id: 'FetchAttempt' });

export const FetchResult = z
  .object({
    status: z.enum(jobStatuses).describe('Result of the fetch; `pending` while its job runs.'),
    job_id: z.string().nullable().describe('Id of the fetch’s job, which can be polled; null for a fetch without `async`.'),
    session_id: z.string().nullable().describe('Id of the session whose browser loaded the page; null if no browser did.'),
    poll_url: z.string().nullable().describe('URL at which to poll the job, the same as in `Location`; null for a synchronous fetch.'),
    url: z.string().describe('URL that was requested.'),
    final_url: z.string().nullable().describe('URL of the page after all redirects; null if no response was received.'),
    redirects: z
      .array(z.object({ url: z.string().describe('URL that redirected.'), status_code: z.int().describe('HTTP status of the redirect.') }))
      .describe(
        'Redirects that were followed, in order. Pages that led on by themselves, by a refresh or a script, are among them with their own status.',
      ),
    status_code: z.int().nullable().describe('HTTP status of the last response for the page itself; null if none was received.'),
    headers: z.record(z.string(), z.string()).describe('Headers of the page’s response, without `set-cookie`.'),
    content_type: z.string().nullable().describe('Media type of the page’s response; null if unknown.'),
    title: z.string().nullable().describe('Title of the page; null if there is none.'),
    html: z.string().nullable().describe('The document after JavaScript has run, at most 8 MB; null if not requested or not available.'),
    raw: Bytes.nullable().describe('The bytes as received: for the format `raw`, and for every response that is not HTML.'),
    markdown: z.string().nullable().describe('Visible content as Markdown; null if not requested or not available.'),
    text: z.string().nullable().describe('Visible content as plain text; null if not requested or not available.'),
    links: z.array(Link).nullable().describe('Links of the page; null if not requested or not available.'),
    page: z
      .object({
        title: z.string().nullable().describe('Title of the page; null if there is none.'),
        description: z.string().nullable().describe('Description from the page’s metadata; null if there is none.'),
        language: z.string().nullable().describe('Language of the page; null if not stated.'),
        canonical: z.string().nullable().describe('Canonical URL; null if not stated.'),
        favicon: z.string().nullable().describe('URL of the icon; null if there is none.'),
        open_graph: z.record(z.string(), z.string()).describe('Open Graph properties.'),
        json_ld: z.array(z.unknown()).describe('JSON-LD documents of the page.'),
      })
      .nullable()
      .describe('Metadata of the page; null if not requested or not available.'),
    screenshot: Picture.nullable().describe('The screenshot; null if not requested or not available.'),
    snapshot: z
      .string()
      .nullable()
      .describe(
        'The page as an accessibility tree, a line for each node; null if not requested or not available. With `session_id` elements have ' +
          'references for the steps of that session.',
      ),
    pdf: Bytes.nullable().describe('The PDF document; null if not requested or not available.'),
    json: z.unknown().describe('The extracted fields, or the response itself if it is JSON.'),
    tables: z
      .array(
        z.object({
          caption: z.string().nullable().describe('Caption of the table; null if it has none.'),
          headers: z.array(z.string()).describe('Texts of the header cells.'),
          rows: z.array(z.array(z.string())).describe('Texts of the cells, row by row.'),
        }),
      )
      .nullable()
      .describe('Tables of the page; null if not requested or not available.'),
    har: z
      .object({ log: z.record(z.string(), z.unknown()).describe('The HAR 1.2 log: creator, pages and entries.') })
      .nullable()
      .describe('Network traffic as HAR 1.2 without bodies; null if not requested or not available.'),
    actions: z.array(StepResult).describe('Results of the steps that ran, in order.'),
    block: Block.nullable().describe('The detected block, with its evidence; null if the page shows no sign of one.'),
    captcha: Captcha.nullable().describe('Captcha on the page; null if no page was loaded.'),
    attempts: z.array(FetchAttempt).describe('Attempts of the fetch, in order.'),
    resolved_by: z
      .object({
        mode: z.enum(['browser', 'http']).describe('Whether a browser or plain HTTP was used.'),
        strategy: z.enum(strategyNames).describe('Strategy of the attempt.'),
        reason: z
          .string()
          .nullable()
          .describe('Why `auto` chose this mode, such as `needs_script` or `no_browser_needed`; null for other modes.'),
      })
      .nullable()
      .describe('The attempt that succeeded; null if none did.'),
    timings: z
      .object({
        queue_ms: z.int().describe('Time spent waiting in the queue, in milliseconds.'),
        session_ms: z.int().describe('Time spent obtaining a browser, in milliseconds.'),
        ttfb_ms: z.int().nullable().describe('Time to the first byte of the page in milliseconds; null if no response was received.'),
        load_ms: z.int().nullable().describe('Time until the page had loaded in milliseconds; null if it did not.'),
        total_ms: z.int().describe('Total time in milliseconds.'),
      })
      .describe('Durations in milliseconds.'),
    bytes: z
      .object({ in: z.int().describe('Bytes received.'), out: z.int().describe('Bytes sent.') })
      .describe('Network traffic of the page’s own requests in bytes, as sent on the wire.'),
    usage: WorkUsage.describe('Resources that the fetch has used.'),
    warnings: z
      .array(z.string())
      .describe('Warnings that explain missing or incomplete results, such as `load_timed_out` or `html_truncated`.'),
    error: WorkError.nullable().describe('Error of a fetch with `status: error`; null otherwise.'),
    metadata: Metadata.describe('Metadata of the request.'),
    created_at: Timestamp.describe('When the fetch was created (RFC 3339, UTC).'),
    finished_at: Timestamp.nullable().describe('When the fetch finished (RFC 3339, UTC); null while it is pending.'),
  })
  .meta({ id: 'FetchResponse' });
export type FetchResponse = z.infer<typeof FetchResult>;

const bodyLimitBytes = 4 * 1024 * 1024;

export const fetchPage = endpoint({
  id: 'fetchPage',
  method: 'POST',
  path: '/v1/fetch',
  tag: 'Fetch',
  summary: 'Fetch a page',
  description:
    'Loads a page and returns it in the requested formats. The response status is 200 for `ok`, `blocked` and ' +
    '`error` alike, so that a direct and a polled result have the same shape. With `async` the result is ' +
    '`pending`, with `Location` and `Retry-After` headers.',
  auth: 'bearer',
  body: FetchRequest,
  reply: FetchResult,
  replyHeaders: asyncReplyHeaders,
  status: 200,
  errors: workErrors,
  cost: 'action',
  deadlineMs: actionsTimeoutMs.max + 60_000,
  bodyLimitBytes,
});

export const getFetchJob = endpoint({
  id: 'getFetchJob',
  method: 'GET',
  path: '/v1/fetch/job/{job_id}',
  tag: 'Fetch',
  summary: 'Get a fetch job',
  description:
    'Returns the result of an asynchronous fetch, or `pending` while it runs. With `wait_seconds` the response is ' +
    'sent as soon as the fetch finishes, or after that time. Results are retained for 24 hours.',
  auth: 'bearer',
  params: z.object({ job_id: PathId.describe('Id of the job.') }),
  query: waitQuery,
  reply: FetchResult,
  status: 200,
  errors: ['job_not_found', 'job_expired', 'store_unavailable', 'deadline_exceeded'],
  deadlineMs: pollDeadlineMs,
});
