/** Endpoints of inspect: a report on a site, from a browser or from an uploaded HAR. */
import { z } from 'zod';
import { Picture, actionsTimeoutMs } from '../steps/actions.ts';
import { Block } from '../work/block.ts';
import { boundedList, boundedString } from '../bounds.ts';
import { BlockDetection, WaitUntil } from '../sessions/drive.ts';
import { endpoint } from '../endpoint.ts';
import { PathId, Timestamp, WebUrl } from '../fields.ts';
import { InspectApi } from './inspect-api.ts';
import { InspectAssets } from './inspect-assets.ts';
import { InspectAuth } from './inspect-auth.ts';
import { InspectAutomation, InspectCookie, InspectSecurity, InspectSeo, InspectSite, InspectThirdParty } from './inspect-site.ts';
import { WorkError, WorkUsage, asyncReplyHeaders, jobStatuses, workErrors } from '../work/jobs.ts';
import { WorkProfile } from '../sessions/profiles.ts';
import { Metadata, ProxyRequest, SessionKind } from '../sessions/session-request.ts';
import { Steps } from '../steps/steps.ts';
import { StorageStateRequest } from '../sessions/storage-state.ts';

/** Parts of the report that a request may choose. */
export const inspectSections = [
  'site',
  'api',
  'openapi',
  'client',
  'auth',
  'assets',
  'third_parties',
  'cookies',
  'security',
  'seo',
  'automation',
  'har',
  'screenshot',
] as const;
export type InspectSection = (typeof inspectSections)[number];
/** A HAR and a client are large, and a screenshot shows what no redaction can replace. */
const optionalSections: readonly InspectSection[] = ['client', 'har', 'screenshot'];
const defaultSections = inspectSections.filter((section) => !optionalSections.includes(section));

export const bodyCaptures = ['schema', 'samples', 'none'] as const;
export const harBytesMax = 32 * 1024 * 1024;

const har = z.union([
  boundedString(2, harBytesMax),
  z.looseObject({ log: z.looseObject({}).describe('The log: creator, pages and entries.') }),
]);

/** Fields that say what a browser does. A HAR is reported without one. */
const browserFields = [
  'session_id',
  'region',
  'proxy',
  'kind',
  'profile',
  'storage_state',
  'actions',
  'wait_until',
  'settle_ms',
  'depth',
  'max_pages',
  'probe',
  'scroll',
  'block_detection',
] as const;

export const InspectRequest = z
  .strictObject({
    url: WebUrl.nullable()
      .default(null)
      .describe('URL to inspect, `http` or `https`, at most 8192 characters. Either this or `har` is required.'),
    har: har
      .nullable()
      .default(null)
      .describe(
        'HAR 1.2 to report on instead of a URL, as Chrome, Firefox and Playwright export it: the object, or its JSON text, ' +
          'which may be larger: the object may have at most 100,000 objects and arrays. At most 32 MB. Fields that say what a ' +
          'browser does, such as `actions` and `depth`, are refused beside it. Default: null.',
      ),
    session_id: boundedString(0, 200)
      .nullable()
      .default(null)
      .describe('Id of a session to inspect as: its active tab, cookies and egress are used. Default: null, a browser context of its own.'),
    region: boundedString(0, 64)
      .optional()
      .describe(
        'Region code from `GET /v1/regions`, from which the traffic leaves. Default: the region of the worker that receives the request.',
      ),
    proxy: ProxyRequest.nullable().default(null).describe('Proxy for the inspection. Default: null, the region’s egress.'),
    kind: SessionKind.default('headless').describe('Kind of browser. Default: `headless`.'),
    profile: WorkProfile,
    storage_state: StorageStateRequest.nullable()
      .default(null)
      .describe('Cookies and local storage to begin with, in Playwright’s format. Default: null, none.'),
    actions: Steps.default([]).describe(
      'Steps to run on the first page before it is read, such as a login, at most 50. Their traffic is part of the report. Default: none.',
    ),
    wait_until: WaitUntil.default('networkidle').describe(
      'Page event to wait for: `commit`, `domcontentloaded`, `load` or `networkidle` (no request open for half a second; event streams, WebSockets, media, beacons and requests that are open for longer than 5 seconds do not count). Default: `networkidle`.',
    ),
    settle_ms: z
      .int()
      .min(0)
      .max(15_000)
      .default(1500)
      .describe('How long to go on capturing after that event and after the actions, in milliseconds, 0 to 15000. Default: 1500.'),
    timeout_ms: z
      .int()
      .min(1000)
      .max(actionsTimeoutMs.max)
      .default(60_000)
      .describe('Maximum time for the whole inspection, in milliseconds, 1000 to 180000. Default: 60000.'),
    depth: z
      .int()
      .min(0)
      .max(2)
      .default(0)
      .describe('How many links to follow from the first page, within its origin, 0 to 2. Default: 0.'),
    max_pages: z.int().min(1).max(10).default(5).describe('Maximum number of pages to visit, 1 to 10. Default: 5.'),
    include: boundedList(z.enum(inspectSections), inspectSections.length)
      .default(defaultSections)
      .describe(
        'Parts of the report to return. `openapi` and `client` are parts of `api`, and each returns it. A screenshot is not redacted. ' +
          'Default: all but `client`, `har` and `screenshot`.',
      ),
    capture_bodies: z
      .enum(bodyCaptures)
      .default('schema')
      .describe(
        'What is made of bodies. `schema`: the shape of requests and responses, without values. `samples`: also redacted ' +
          'examples. `none`: bodies are not read. Default: `schema`.',
      ),
    max_body_bytes: z
      .int()
      .min(1024)
      .max(2 * 1024 * 1024)
      .default(262_144)
      .describe('Maximum size of a body that is read, in bytes, 1024 to 2097152. Larger ones are left out. Default: 262144.'),
    probe: z
      .boolean()
      .default(false)
      .describe(
        'Whether to request well-known files, such as `/openapi.json` and `/.well-known/openid-configuration`. `robots.txt` and ' +
          '`security.txt` are always requested. Default: `false`.',
      ),
    scroll: z.boolean().default(false).describe('Whether to scroll each page to its end, so that lazy content loads. Default: `false`.'),
    block_detection: BlockDetection.default('default').describe(
      'How block pages are detected. `default`: on clear evidence. `strict`: also on weaker evidence. `off`: not at all. Default: `default`.',
    ),
    async: z.boolean().default(false).describe('Whether to return at once with a job to poll. Default: `false`.'),
    metadata: Metadata.default({}).describe('Up to 50 key-value pairs of your own, returned with the result. Default: none.'),
  })
  .check((context) => {
    const { url, har, session_id: session, region, proxy, kind, profile, storage_state: state, include } = context.value;
    const addIssue = (path: keyof typeof context.value, message: string) =>
      context.issues.push({ code: 'custom', message, path: [path], input: context.value[path], params: { type: 'value_error' } });
    if (url === null && har === null) addIssue('url', 'Either `url` or `har` is required');
    if (url !== null && har !== null) addIssue('har', 'A HAR is reported without a browser. Omit `url`');
    if (har !== null) {
      for (const field of browserFields)
        if (!isDefault(field, context.value[field])) addIssue(field, 'A HAR is reported without a browser. Omit this field');
      if (include.includes('screenshot')) addIssue('include', 'A HAR is reported without a browser. Omit `screenshot`');
      return;
    }
    if (session !== null && region !== undefined) addIssue('region', 'The region is that of the session. Omit this field');
    if (session !== null && proxy !== null) addIssue('proxy', 'The egress is that of the session. Omit this field');
    if (session !== null && kind !== 'headless') addIssue('kind', 'The kind is that of the session. Omit this field');
    if (session !== null && profile !== null) addIssue('profile', 'The profile is that of the session. Omit this field');
    if (profile !== null && state !== null)
      addIssue('storage_state', 'The cookies and storage are those of the profile. Omit one of the two');
    if (session !== null && state !== null) addIssue('storage_state', 'The cookies are those of the session. Omit this field');
  })
  .meta({ id: 'InspectRequest' });
export type InspectRequest = z.infer<typeof InspectRequest>;

/** Whether a field of a checked request has its default, as omitted fields do: null, a simple value or an empty list. */
function isDefault(field: (typeof browserFields)[number], value: unknown): boolean {
  return JSON.stringify(value) === JSON.stringify(InspectRequest.shape[field].parse(undefined));
}

const InspectedPage = z
  .object({
    page_id: z.string().describe('Id of the page, to which requests refer.'),
    url: z.string().describe('URL of the page after all redirects, redacted.'),
    title: z.string().describe('Title of the page; empty if unknown.'),
    status_code: z.int().nullable().describe('HTTP status of the page; null if no response was received.'),
    requests: z.int().describe('Number of requests of the page.'),
    load_ms: z.int().nullable().describe('Time until the load event in milliseconds; null if there was none.'),
  })
  .meta({ id: 'InspectedPage' });

/** Parts of a report that can be had as files, by file name. */
export const inspectArtifacts = ['openapi.json', 'client.ts', 'capture.har', 'screenshot.jpg'] as const;
export type InspectArtifact = (typeof inspectArtifacts)[number];

const artifactLink = (what: string) => z.string().nullable().describe(`${what}; null if the report does not have it.`);

const InspectAction = z
  .object({
    index: z.int().describe('Position of the step in its list, from 0.'),
    type: z.string().describe('Type of the step.'),
    status: z.string().describe('Result of the step: `ok`, `error` or `skipped`.'),
    error_code: z.string().nullable().describe('Error code of a failed step; null otherwise.'),
    duration_ms: z.int().describe('Duration of the step in milliseconds.'),
  })
  .meta({ id: 'InspectAction' });
export type InspectAction = z.infer<typeof InspectAction>;

/** What every report has, whatever its sections. */
export const InspectCore = z.object({
  report_version: z.literal(1).describe('Version of the report’s form.'),
  inspect_id: z.string().describe('Id of the inspection.'),
  job_id: z.string().describe('Id of the inspection’s job, by which the report can be read again for 24 hours.'),
  session_id: z.string().nullable().describe('Id of the session whose browser loaded the site; null if no browser did.'),
  status: z.enum(jobStatuses).describe('Result of the inspection; `pending` while its job runs.'),
  url: z.string().nullable().describe('URL that was inspected, redacted; of a HAR, that of its first document. null if there is none.'),
  final_url: z.string().nullable().describe('URL of the first page after all redirects, redacted; null if no response was received.'),
  started_at: Timestamp.describe('When the inspection began (RFC 3339, UTC); of a HAR, when it was recorded.'),
  duration_ms: z.int().describe('Duration of the inspection in milliseconds.'),
  pages: z.array(InspectedPage).describe('The pages that were visited, in order.'),
  limits: z
    .object({
      truncated: z.boolean().describe('Whether anything was left out.'),
      dropped_requests: z.int().describe('Number of requests that were left out.'),
      dropped_bytes: z.int().describe('Bytes of bodies that were left out.'),
      reason: z.string().nullable().describe('Which limits applied; null if none did.'),
    })
    .describe('What the limits of the inspection left out.'),
  redactions: z
    .object({
      headers: z.int().describe('Number of header values that were redacted.'),
      body_keys: z.int().describe('Number of body values that were redacted by the name of their field.'),
      body_values: z.int().describe('Number of body values that were redacted by their form.'),
    })
    .describe('In how many places secrets were replaced before anything was kept. One secret may stand in many.'),
  warnings: z.array(z.string()).describe('Warnings that explain missing or incomplete results, such as `load_timed_out`.'),
});

/** The parts of the report that a request chooses. */
export const InspectSections = z.object({
  site: InspectSite.nullable().describe('What the site is and how it is made; null if not requested.'),
  api: InspectApi.nullable().describe('The calls of the site’s API, their parameters and schemas; null if not requested.'),
  auth: InspectAuth.nullable().describe('How the site authenticates; null if not requested.'),
  assets: InspectAssets.nullable().describe('What the pages load, how fast, and what they could save; null if not requested.'),
  third_parties: z
    .array(InspectThirdParty)
    .nullable()
    .describe('Whose servers the pages use beside the site’s own; null if not requested.'),
  cookies: z.array(InspectCookie).nullable().describe('Cookies of the site and of others, without values; null if not requested.'),
  security: InspectSecurity.nullable().describe('What the responses say about security; null if not requested.'),
  seo: InspectSeo.nullable().describe('What search engines read; null if not requested.'),
  automation: InspectAutomation.nullable().describe('What to know before automating the site; null if not requested.'),
  har: z
    .object({ log: z.record(z.string(), z.unknown()).describe('The HAR 1.2 log: creator, pages and entries.') })
    .nullable()
    .describe('The network traffic as HAR 1.2, redacted; null if not requested.'),
});

export const InspectReport = InspectCore.extend(InspectSections.shape)
  .extend({
    poll_url: z.string().nullable().describe('URL at which to poll the job, the same as in `Location`; null once it is done.'),
    report_url: z
      .string()
      .nullable()
      .describe('Link to the report as a page for people, which needs no key and works for 24 hours; null if there is no report.'),
    artifacts: z
      .object({
        openapi_url: artifactLink('Link to the OpenAPI document'),
        client_url: artifactLink('Link to the TypeScript client'),
        har_url: artifactLink('Link to the HAR'),
        screenshot_url: artifactLink('Link to the screenshot'),
      })
      .nullable()
      .describe('Parts of the report as files, by links that work as `report_url` does; null if there is no report.'),
    block: Block.nullable().describe('The detected block, with its evidence; null if the page shows no sign of one.'),
    actions: z.array(InspectAction).describe('Results of the steps that ran, in order.'),
    screenshot: Picture.nullable().describe('The first page as a person sees it; null if not requested or not available.'),
    usage: WorkUsage.describe('Resources that the inspection has used.'),
    error: WorkError.nullable().describe('Error of an inspection with `status: error`; null otherwise.'),
    metadata: Metadata.describe('Metadata of the request.'),
  })
  .meta({ id: 'InspectResponse' });
export type InspectResponse = z.infer<typeof InspectReport>;

export const inspect = endpoint({
  id: 'inspect',
  method: 'POST',
  path: '/v1/inspect',
  tag: 'Inspect',
  summary: 'Inspect a site',
  description:
    'Loads a page in a browser, or reads a HAR, and reports on the site’s API, authentication and assets. Secrets ' +
    'that their name or form reveals are replaced before anything is kept. The response status is 200 for `ok`, `blocked` and `error` alike. With `async` the ' +
    'result is `pending`, with `Location` and `Retry-After` headers; poll `GET /v1/job/{job_id}`.',
  auth: 'bearer',
  body: InspectRequest,
  exactTextFields: ['har', 'storage_state'],
  reply: InspectReport,
  replyHeaders: asyncReplyHeaders,
  secretReplyFields: ['report_url', 'artifacts'],
  status: 200,
  errors: workErrors,
  cost: 'action',
  deadlineMs: actionsTimeoutMs.max + 60_000,
  bodyLimitBytes: harBytesMax + 1024 * 1024,
});

export const getInspectReport = endpoint({
  id: 'getInspectReport',
  method: 'GET',
  path: '/v1/inspect/{job_id}/report.html',
  tag: 'Inspect',
  summary: 'Get a report as a page',
  description:
    'Returns the report of an inspection as one self-contained page, which can be printed. It opens with your API key, or by ' +
    'the link in `report_url`.',
  auth: 'report',
  params: z.object({ job_id: PathId.describe('Id of the inspection’s job.') }),
  // What mail and chat programs add to links is ignored.
  query: z.object({ token: boundedString(0, 2048).optional().describe('Token of the link in `report_url`.') }),
  reply: z.string(),
  replyKind: 'html',
  status: 200,
  errors: ['job_not_found', 'job_expired', 'report_not_available', 'store_unavailable'],
});

export const getInspectArtifact = endpoint({
  id: 'getInspectArtifact',
  method: 'GET',
  path: '/v1/inspect/{job_id}/artifacts/{name}',
  tag: 'Inspect',
  summary: 'Download a part of a report',
  description:
    'Returns a part of the report of an inspection as a file. It opens with your API key, or by the links in `artifacts`. ' +
    'Parts that the inspection did not `include` are not available.',
  auth: 'report',
  params: z.object({
    job_id: PathId.describe('Id of the inspection’s job.'),
    name: z
      .enum(inspectArtifacts)
      .describe('Part to return: `openapi.json` (OpenAPI 3.1), `client.ts` (TypeScript), `capture.har` (HAR 1.2) or `screenshot.jpg`.'),
  }),
  // What mail and chat programs add to links is ignored.
  query: z.object({ token: boundedString(0, 2048).optional().describe('Token of the link in `artifacts`.') }),
  replyKind: 'bytes',
  replyHeaders: {
    'Content-Disposition': 'Always `attachment`, with the name of the part.',
    'Content-Length': 'Size of the file in bytes.',
  },
  status: 200,
  errors: ['job_not_found', 'job_expired', 'report_not_available', 'store_unavailable'],
});
