/** What is done with a session's page beside navigating: steps, pictures, its content, its state, files, events. */
import { z } from 'zod';
import { endpoint } from './endpoint.ts';
import { driveErrors, driveDeadlineMs } from './drive.ts';
import { PathId, Timestamp, queryBool } from './fields.ts';
import { parseSelector } from './step-fields.ts';
import { StorageState } from './storage-state.ts';
import { StepResult, Steps } from './steps.ts';

const sessionParams = z.object({ session_id: PathId });
const TabId = z.string().min(1).max(200).optional().meta({ description: 'The active tab when absent.' });

export const actionsTimeoutMs = { least: 1000, most: 180_000, usual: 60_000 } as const;

export const RunActionsRequest = z
  .strictObject({
    actions: Steps.min(1).optional(),
    recording: z
      .record(z.string(), z.unknown())
      .optional()
      .meta({ description: 'Instead of `actions`: a recording that Chrome’s Recorder exported as JSON.' }),
    tab_id: TabId,
    inputs: z.record(z.string().max(64), z.unknown()).default({}).meta({ description: 'What `{{inputs.name}}` in the steps means.' }),
    stop_on_error: z.boolean().default(true),
    timeout_ms: z
      .int()
      .min(actionsTimeoutMs.least)
      .max(actionsTimeoutMs.most)
      .default(actionsTimeoutMs.usual)
      .meta({ description: 'For all steps together; what does not fit is told as `timeout`.' }),
  })
  .check((context) => {
    const { actions, recording } = context.value;
    if ((actions === undefined) === (recording === undefined))
      context.issues.push({
        code: 'custom',
        message: actions === undefined ? 'Field required' : 'Either `actions` or `recording`, not both',
        path: ['actions'],
        input: context.value,
        params: { type: actions === undefined ? 'missing' : 'value_error' },
      });
  })
  .meta({ id: 'RunActionsRequest' });
export type RunActionsRequest = z.infer<typeof RunActionsRequest>;

export const ActionsResult = z
  .object({
    results: z.array(StepResult),
    final_url: z.string(),
    tab_id: z.string(),
    vars: z.record(z.string(), z.unknown()),
    duration_ms: z.int(),
  })
  .meta({ id: 'ActionsResult' });
export type ActionsResponse = z.infer<typeof ActionsResult>;

const actionErrors = [...driveErrors, 'tab_not_found', 'page_failed'] as const;
/** The queue's 30 s, the longest run, and a margin to answer in. */
const actionsDeadlineMs = actionsTimeoutMs.most + 35_000;
const bodyLimitBytes = 4 * 1024 * 1024;

export const runActions = endpoint({
  id: 'runActions',
  method: 'POST',
  path: '/v1/session/{session_id}/actions',
  tag: 'Driving',
  summary: 'Run a list of steps on a page',
  description: 'A step that fails is told in its result, and the reply is 200 all the same.',
  auth: 'bearer',
  params: sessionParams,
  body: RunActionsRequest,
  reply: ActionsResult,
  status: 200,
  owner: 'session',
  errors: [...driveErrors, 'tab_not_found'],
  cost: 'action',
  deadlineMs: actionsDeadlineMs,
  bodyLimitBytes,
});

const Quality = z.int().min(1).max(100).optional().meta({ description: 'For jpeg and webp; 80 when absent.' });
export const ImageFormat = z.enum(['png', 'jpeg', 'webp']);

export const ScreenshotRequest = z
  .strictObject({
    tab_id: TabId,
    format: ImageFormat.default('png'),
    quality: Quality,
    full_page: z.boolean().default(false),
    selector: z
      .string()
      .min(1)
      .max(2000)
      .refine((text) => parseSelector(text) !== null, {
        error: 'Input should be a locator of the step language',
        params: { type: 'selector' },
      })
      .optional()
      .meta({ description: 'Of one element only: css, or any locator of the step language.' }),
    scroll_first: z
      .boolean()
      .default(true)
      .meta({ description: 'Scrolls through a full page first, so that what loads on sight is there.' }),
    timeout_ms: z.int().min(1000).max(120_000).default(30_000),
  })
  .meta({ id: 'ScreenshotRequest' });
export type ScreenshotRequest = z.infer<typeof ScreenshotRequest>;

export const Picture = z
  .object({
    content_type: z.string(),
    width: z.int(),
    height: z.int(),
    data_base64: z.string().nullable().meta({ description: 'The picture; null where it comes in tiles.' }),
    tiles: z
      .array(z.object({ data_base64: z.string(), width: z.int(), height: z.int(), y: z.int() }))
      .nullable()
      .meta({ description: 'A page above 16384 px comes in tiles, top to bottom.' }),
    warnings: z.array(z.string()),
  })
  .meta({ id: 'Picture' });
export type PictureResponse = z.infer<typeof Picture>;

export const screenshot = endpoint({
  id: 'screenshot',
  method: 'POST',
  path: '/v1/session/{session_id}/screenshot',
  tag: 'Driving',
  summary: 'A picture of a page',
  auth: 'bearer',
  params: sessionParams,
  body: ScreenshotRequest,
  bodyOptional: true,
  reply: Picture,
  status: 200,
  owner: 'session',
  errors: actionErrors,
  cost: 'action',
  deadlineMs: driveDeadlineMs,
});

const inches = z.number().min(0.1).max(200);
export const PdfOptions = z
  .strictObject({
    landscape: z.boolean().default(false),
    print_background: z.boolean().default(true),
    scale: z.number().min(0.1).max(2).default(1),
    paper_width_inches: inches.default(8.27),
    paper_height_inches: inches.default(11.69),
    margin_inches: z.number().min(0).max(10).default(0.4),
    page_ranges: z
      .string()
      .max(200)
      .regex(/^\d+(-\d*)?(,\s*\d+(-\d*)?)*$/)
      .optional()
      .meta({ examples: ['1-3', '1,4-'] }),
  })
  .meta({ id: 'PdfOptions' });
export type PdfOptions = z.infer<typeof PdfOptions>;

export const PdfRequest = PdfOptions.extend({ tab_id: TabId, timeout_ms: z.int().min(1000).max(120_000).default(30_000) }).meta({
  id: 'PdfRequest',
});
export type PdfRequest = z.infer<typeof PdfRequest>;

export const PdfDocument = z
  .object({ content_type: z.literal('application/pdf'), data_base64: z.string(), bytes: z.int() })
  .meta({ id: 'PdfDocument' });
export type PdfDocumentResponse = z.infer<typeof PdfDocument>;

export const pdf = endpoint({
  id: 'pdf',
  method: 'POST',
  path: '/v1/session/{session_id}/pdf',
  tag: 'Driving',
  summary: 'A page as a PDF document',
  auth: 'bearer',
  params: sessionParams,
  body: PdfRequest,
  bodyOptional: true,
  reply: PdfDocument,
  status: 200,
  owner: 'session',
  errors: actionErrors,
  cost: 'action',
  deadlineMs: driveDeadlineMs,
});

export const Link = z
  .object({
    url: z.string(),
    text: z.string(),
    rel: z.string().nullable(),
    internal: z.boolean().meta({ description: 'Of the same registrable domain.' }),
  })
  .meta({ id: 'Link' });

export const PageContent = z
  .object({
    tab_id: z.string(),
    url: z.string(),
    title: z.string(),
    format: z.enum(['html', 'markdown', 'text', 'links']),
    content: z.string().nullable().meta({ description: 'null for `links`.' }),
    links: z.array(Link).nullable().meta({ description: 'For `links` alone.' }),
    warnings: z.array(z.string()),
  })
  .meta({ id: 'PageContent' });
export type PageContentResponse = z.infer<typeof PageContent>;

export const getContent = endpoint({
  id: 'getContent',
  method: 'GET',
  path: '/v1/session/{session_id}/content',
  tag: 'Driving',
  summary: 'What a page holds now',
  auth: 'bearer',
  params: sessionParams,
  query: z.strictObject({
    format: z.enum(['html', 'markdown', 'text', 'links']).default('html'),
    only_main_content: queryBool.default(false),
    tab_id: TabId,
  }),
  reply: PageContent,
  status: 200,
  owner: 'session',
  errors: actionErrors,
  cost: 'action',
  deadlineMs: driveDeadlineMs,
});

export const getStorageState = endpoint({
  id: 'getStorageState',
  method: 'GET',
  path: '/v1/session/{session_id}/storage-state',
  tag: 'Driving',
  summary: 'Cookies and local storage, in Playwright’s form',
  description: 'Local storage is that of the origins that the open tabs show. Give it back as `storage_state` when you create a session.',
  auth: 'bearer',
  params: sessionParams,
  reply: StorageState,
  status: 200,
  owner: 'session',
  errors: [...driveErrors],
  deadlineMs: driveDeadlineMs,
});

export const Download = z
  .object({
    download_id: z.string(),
    url: z.string(),
    suggested_filename: z.string().meta({ description: 'As the site names it, made harmless for a file system.' }),
    status: z.enum(['in_progress', 'completed', 'cancelled', 'too_large']),
    received_bytes: z.int(),
    total_bytes: z.int().nullable(),
    started_at: Timestamp,
    finished_at: Timestamp.nullable(),
  })
  .meta({ id: 'Download' });
export type DownloadResponse = z.infer<typeof Download>;

export const listDownloads = endpoint({
  id: 'listDownloads',
  method: 'GET',
  path: '/v1/session/{session_id}/downloads',
  tag: 'Driving',
  summary: 'Files that pages have downloaded, newest first',
  auth: 'bearer',
  params: sessionParams,
  reply: z.array(Download),
  status: 200,
  owner: 'session',
  errors: ['session_not_found', 'session_not_ready', 'session_ended', 'store_unavailable'],
});

export const getDownload = endpoint({
  id: 'getDownload',
  method: 'GET',
  path: '/v1/session/{session_id}/downloads/{download_id}',
  tag: 'Driving',
  summary: 'A downloaded file',
  auth: 'bearer',
  params: z.object({ session_id: PathId, download_id: PathId }),
  replyKind: 'bytes',
  replyHeaders: {
    'Content-Disposition': '`attachment`, with the name that the site gave.',
    'Content-Length': 'Its size in bytes.',
    'X-Content-SHA256': 'Of the whole file, in hex.',
  },
  status: 200,
  owner: 'session',
  errors: [
    'session_not_found',
    'session_not_ready',
    'session_ended',
    'download_not_found',
    'download_not_ready',
    'store_unavailable',
    'deadline_exceeded',
  ],
  deadlineMs: 300_000,
});

export const uploadBytesMax = 12 * 1024 * 1024;

export const UploadRequest = z
  .strictObject({
    name: z
      .string()
      .min(1)
      .max(200)
      .regex(/^[^/\\\p{Cc}]+$/u)
      .refine((name) => !/^\.{1,2}$/.test(name), { error: 'Input should be a file name', params: { type: 'value_error' } })
      .meta({ examples: ['photo.jpg'] }),
    data_base64: z.base64().max(Math.ceil(uploadBytesMax / 3) * 4),
  })
  .meta({ id: 'UploadRequest' });
export type UploadRequest = z.infer<typeof UploadRequest>;

export const UploadedFile = z
  .object({ file_id: z.string(), name: z.string(), bytes: z.int(), sha256: z.string(), created_at: Timestamp })
  .meta({ id: 'UploadedFile' });
export type UploadedFileResponse = z.infer<typeof UploadedFile>;

export const uploadFile = endpoint({
  id: 'uploadFile',
  method: 'POST',
  path: '/v1/session/{session_id}/uploads',
  tag: 'Driving',
  summary: 'Put a file where the session’s pages can be given it',
  description: 'An `upload` step names it by its `file_id`. It goes with the session.',
  auth: 'bearer',
  params: sessionParams,
  body: UploadRequest,
  reply: UploadedFile,
  status: 201,
  owner: 'session',
  errors: ['session_not_found', 'session_not_ready', 'session_ended', 'upload_limit_reached', 'store_unavailable'],
  cost: 'action',
  bodyLimitBytes: Math.ceil((uploadBytesMax * 4) / 3) + 4096,
});

export const sessionEventTypes = [
  'session.ready',
  'session.expiring',
  'session.ended',
  'tab.opened',
  'tab.closed',
  'tab.refused',
  'tab.crashed',
  'navigation',
  'download.started',
  'download.finished',
  'dialog',
  'actions.step',
  'action',
  'viewer.joined',
  'viewer.left',
  'captcha.detected',
  'captcha.awaiting_human',
  'captcha.solved',
  'captcha.failed',
] as const;
export type SessionEventType = (typeof sessionEventTypes)[number];

export const SessionEvent = z
  .object({ id: z.int(), type: z.enum(sessionEventTypes), at: Timestamp, data: z.record(z.string(), z.unknown()) })
  .meta({ id: 'SessionEvent' });
export type SessionEventResponse = z.infer<typeof SessionEvent>;

export const streamEvents = endpoint({
  id: 'streamEvents',
  method: 'GET',
  path: '/v1/session/{session_id}/events',
  tag: 'Driving',
  summary: 'What happens in a session, as it happens',
  description:
    'Server-sent events, each with an `id`, its type as `event` and a SessionEvent as `data`; from now on, or with `Last-Event-ID` from there on: the latest 500 are kept, and 0 gives them all. The stream ends with the session.',
  auth: 'bearer',
  params: sessionParams,
  replyKind: 'events',
  status: 200,
  owner: 'session',
  errors: ['session_not_found', 'session_not_ready', 'session_ended', 'store_unavailable', 'too_many_streams'],
  deadlineMs: 86_400_000,
});

export const getHar = endpoint({
  id: 'getHar',
  method: 'GET',
  path: '/v1/session/{session_id}/har',
  tag: 'Driving',
  summary: 'The session’s network traffic as HAR 1.2',
  description:
    'Kept from the start of a session that was created with `har: true`, else from the first call on. Without bodies; values of cookies and of headers that carry credentials are taken out.',
  auth: 'bearer',
  params: sessionParams,
  reply: z.object({ log: z.record(z.string(), z.unknown()) }),
  status: 200,
  owner: 'session',
  errors: ['session_not_found', 'session_not_ready', 'session_ended', 'store_unavailable'],
});
