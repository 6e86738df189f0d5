/** Endpoints of a session's pages beside navigation: actions, screenshots, PDF, content, storage, files, events, traffic. */
import { z } from 'zod';
import { boundedRecord, boundedString } from '../bounds.ts';
import { endpoint } from '../endpoint.ts';
import { driveErrors, driveDeadlineMs } from '../sessions/drive.ts';
import { PathId, Timestamp, queryBool, queryInt, sessionParams } from '../fields.ts';
import { Ref, checkSelector, printFields } from './step-fields.ts';
import { SnapshotBox } from './snapshot-options.ts';
import { StorageState } from '../sessions/storage-state.ts';
import { StepResult, Steps } from './steps.ts';

const TabId = boundedString(1, 200).optional().describe('Id of the tab to use. Default: the active tab.');

export const actionsTimeoutMs = { min: 1000, max: 180_000, default: 60_000 } as const;

export const RunActionsRequest = z
  .strictObject({
    actions: Steps.min(1).optional().describe('Steps to run in order, 1 to 50. Required unless `recording` is sent.'),
    recording: boundedRecord(boundedString(0, 64), z.unknown(), 50)
      .optional()
      .describe('A recording exported as JSON from Chrome’s DevTools Recorder, to run instead of `actions`.'),
    tab_id: TabId,
    inputs: boundedRecord(boundedString(0, 64), z.unknown(), 200)
      .default({})
      .describe('Values for `{{inputs.name}}` placeholders in the steps. Default: none.'),
    stop_on_error: z.boolean().default(true).describe('Whether to stop at the first step that fails. Default: `true`.'),
    timeout_ms: z
      .int()
      .min(actionsTimeoutMs.min)
      .max(actionsTimeoutMs.max)
      .default(actionsTimeoutMs.default)
      .describe(
        'Maximum time for all steps together in milliseconds, 1000 to 180000. Steps beyond it fail with `timeout`. Default: 60000.',
      ),
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
    status: z.enum(['ok', 'error']).describe('`ok` if no step failed; an optional step that failed counts as skipped.'),
    failed_index: z.int().nullable().describe('Position of the first step that failed, from 0; null if none did.'),
    results: z.array(StepResult).describe('Results of the steps that ran, in order.'),
    final_url: z.string().describe('URL of the tab after the last step.'),
    tab_id: z.string().describe('Id of the tab in which the steps ran.'),
    vars: z.record(z.string(), z.unknown()).describe('Variables that steps saved with `save_as`.'),
    duration_ms: z.int().describe('Duration of the run in milliseconds.'),
    warnings: z
      .array(z.string())
      .describe('What was not done of a `recording`, at most 20, such as emulated network conditions; empty for `actions`.'),
  })
  .meta({ id: 'ActionsResponse' });
export type ActionsResponse = z.infer<typeof ActionsResult>;

const actionErrors = [...driveErrors, 'tab_not_found', 'page_failed'] as const;
/** 30 s in the queue, the maximum duration of a run, and a margin for the response. */
const actionsDeadlineMs = actionsTimeoutMs.max + 35_000;
const bodyLimitBytes = 4 * 1024 * 1024;

export const runActions = endpoint({
  id: 'runActions',
  method: 'POST',
  path: '/v1/session/{session_id}/actions',
  tag: 'Driving',
  summary: 'Run actions',
  description:
    'Runs a list of steps in a tab and returns a result for each step that ran. A failed step is reported in its ' +
    'result, and the response status is 200 all the same.',
  auth: 'bearer',
  params: sessionParams,
  body: RunActionsRequest,
  reply: ActionsResult,
  status: 200,
  errors: [...driveErrors, 'tab_not_found'],
  cost: 'action',
  deadlineMs: actionsDeadlineMs,
  bodyLimitBytes,
});

const Quality = z.int().min(1).max(100).optional().describe('Image quality for `jpeg` and `webp`, 1 to 100. Default: 80.');
export const ImageFormat = z.enum(['png', 'jpeg', 'webp']).describe('Image format: `png`, `jpeg` or `webp`.');

export const ScreenshotRequest = z
  .strictObject({
    tab_id: TabId,
    format: ImageFormat.default('png').describe('Image format. Default: `png`.'),
    quality: Quality,
    full_page: z.boolean().default(false).describe('Whether to capture the full page instead of the visible area. Default: `false`.'),
    selector: boundedString(1, 2000)
      .check(checkSelector)
      .optional()
      .describe('Selector of a single element to capture: CSS, or any selector of the step language.'),
    ref: Ref.optional().describe('Reference of a single element to capture, such as `e12`, instead of `selector`.'),
    scroll_first: z
      .boolean()
      .default(true)
      .describe('Whether to scroll through a full page first, so that lazy-loaded images are present. Default: `true`.'),
    annotate: z.boolean().default(false).describe('Whether to draw references of a snapshot on what can be operated. Default: `false`.'),
    timeout_ms: z
      .int()
      .min(1000)
      .max(120_000)
      .default(30_000)
      .describe('Maximum time for the screenshot in milliseconds, 1000 to 120000. Default: 30000.'),
  })
  .check(({ value, issues }) => {
    if (value.ref === undefined || value.selector === undefined) return;
    const message = 'Only one of selector, ref may be given';
    issues.push({ code: 'custom', message, path: ['ref'], input: value, params: { type: 'value_error' } });
  })
  .meta({ id: 'ScreenshotRequest' });
export type ScreenshotRequest = z.infer<typeof ScreenshotRequest>;

export const Picture = z
  .object({
    content_type: z.string().describe('Media type of the image, such as `image/png`.'),
    width: z.int().describe('Width in pixels.'),
    height: z.int().describe('Height in pixels.'),
    data_base64: z.string().nullable().describe('The image in base64; null if it is split into tiles.'),
    tiles: z
      .array(
        z.object({
          data_base64: z.string().describe('The image of the tile in base64.'),
          width: z.int().describe('Width of the tile in pixels.'),
          height: z.int().describe('Height of the tile in pixels.'),
          y: z.int().describe('Distance from the top of the page in pixels.'),
        }),
      )
      .nullable()
      .describe('Tiles of an image taller than 16384 pixels or with more than 20 million, from top to bottom; null for other images.'),
    warnings: z.array(z.string()).describe('Warnings about the capture, such as incomplete content.'),
    annotations: z
      .array(
        z.object({
          ref: z.string().describe('Reference for steps, as it is drawn.'),
          role: z.string().describe('ARIA role of the element.'),
          name: z.string().describe('Accessible name of the element.'),
          box: z.object(SnapshotBox).describe('Place of the element in the image.'),
        }),
      )
      .optional()
      .describe('What is drawn on the image, at most 300; only with `annotate`.'),
  })
  .meta({ id: 'PictureResponse' });
export type PictureResponse = z.infer<typeof Picture>;

export const screenshot = endpoint({
  id: 'screenshot',
  method: 'POST',
  path: '/v1/session/{session_id}/screenshot',
  tag: 'Driving',
  summary: 'Take a screenshot',
  description:
    'Captures a tab and returns the image in base64. An image taller than 16384 pixels, or with more than 20 million, is returned in tiles.',
  auth: 'bearer',
  params: sessionParams,
  body: ScreenshotRequest,
  bodyOptional: true,
  reply: Picture,
  status: 200,
  errors: [...actionErrors, 'ref_not_found', 'stale_ref'],
  cost: 'action',
  deadlineMs: driveDeadlineMs,
});

const inches = z.number().min(0.1).max(200);
export const PdfOptions = z
  .strictObject({
    landscape: z.boolean().default(false).describe('Whether to use landscape orientation. Default: `false`.'),
    print_background: z.boolean().default(true).describe('Whether to print backgrounds. Default: `true`.'),
    scale: z.number().min(0.1).max(2).default(1).describe('Scale of the page, 0.1 to 2. Default: 1.'),
    paper_width_inches: inches.default(8.27).describe('Paper width in inches, 0.1 to 200. Default: 8.27 (A4).'),
    paper_height_inches: inches.default(11.69).describe('Paper height in inches, 0.1 to 200. Default: 11.69 (A4).'),
    margin_inches: z.number().min(0).max(10).default(0.4).describe('Margin on all sides in inches, 0 to 10. Default: 0.4.'),
    page_ranges: boundedString(0, 200)
      .regex(/^\d+(-\d*)?(,\s*\d+(-\d*)?)*$/)
      .optional()
      .meta({ description: 'Pages to print, such as `1-3` or `1,4-`. Default: all pages.', examples: ['1-3', '1,4-'] }),
    ...printFields,
  })
  .meta({ id: 'PdfOptions' });
export type PdfOptions = z.infer<typeof PdfOptions>;

export const PdfRequest = PdfOptions.extend({
  tab_id: TabId,
  timeout_ms: z
    .int()
    .min(1000)
    .max(120_000)
    .default(30_000)
    .describe('Maximum time for printing in milliseconds, 1000 to 120000. Default: 30000.'),
}).meta({
  id: 'PdfRequest',
});
export type PdfRequest = z.infer<typeof PdfRequest>;

export const PdfDocument = z
  .object({
    content_type: z.literal('application/pdf').describe('Always `application/pdf`.'),
    data_base64: z.string().describe('The document in base64.'),
    bytes: z.int().describe('Size of the document in bytes.'),
  })
  .meta({ id: 'PdfDocumentResponse' });
export type PdfDocumentResponse = z.infer<typeof PdfDocument>;

export const pdf = endpoint({
  id: 'pdf',
  method: 'POST',
  path: '/v1/session/{session_id}/pdf',
  tag: 'Driving',
  summary: 'Create a PDF',
  description: 'Prints a tab to a PDF document and returns it in base64.',
  auth: 'bearer',
  params: sessionParams,
  body: PdfRequest,
  bodyOptional: true,
  reply: PdfDocument,
  status: 200,
  errors: actionErrors,
  cost: 'action',
  deadlineMs: driveDeadlineMs,
});

export const Link = z
  .object({
    url: z.string().describe('Absolute URL of the link.'),
    text: z.string().describe('Text of the link.'),
    rel: z.string().nullable().describe('`rel` attribute of the link; null if it has none.'),
    internal: z.boolean().describe('Whether the link stays within the registrable domain of the page.'),
  })
  .meta({ id: 'Link' });

export const PageContent = z
  .object({
    tab_id: z.string().describe('Id of the tab.'),
    url: z.string().describe('URL of the page.'),
    title: z.string().describe('Title of the page.'),
    format: z.enum(['html', 'markdown', 'text', 'links']).describe('Format of the content.'),
    content: z.string().nullable().describe('The content as text; null for `links`.'),
    links: z.array(Link).nullable().describe('The links of the page; null for other formats.'),
    warnings: z.array(z.string()).describe('Warnings, such as `html_truncated` for content that was cut.'),
  })
  .meta({ id: 'PageContentResponse' });
export type PageContentResponse = z.infer<typeof PageContent>;

export const getContent = endpoint({
  id: 'getContent',
  method: 'GET',
  path: '/v1/session/{session_id}/content',
  tag: 'Driving',
  summary: 'Get page content',
  description:
    'Returns the current content of a tab as HTML, Markdown, plain text or a list of links. A page that has just ' +
    'loaded is read when its scripts have shown their content, at most a second later.',
  auth: 'bearer',
  params: sessionParams,
  query: z.strictObject({
    format: z.enum(['html', 'markdown', 'text', 'links']).default('html').describe('Format of the content. Default: `html`.'),
    only_main_content: queryBool
      .default(false)
      .describe('Whether to return only the main content of the page, without navigation and footer. Default: `false`.'),
    tab_id: TabId,
  }),
  reply: PageContent,
  status: 200,
  errors: actionErrors,
  cost: 'action',
  deadlineMs: driveDeadlineMs,
});

export const getStorageState = endpoint({
  id: 'getStorageState',
  method: 'GET',
  path: '/v1/session/{session_id}/storage-state',
  tag: 'Driving',
  summary: 'Get storage state',
  description:
    'Returns the cookies and local storage of the session in Playwright’s format. Local storage covers the origins ' +
    'of the open tabs, with all characters as pages stored them. Send the result as `storage_state` when you create ' +
    'a session to restore it. Cookies that no client can set are left out, such as those of sandboxed frames.',
  auth: 'bearer',
  params: sessionParams,
  reply: StorageState,
  status: 200,
  errors: [...driveErrors, 'page_failed'],
  deadlineMs: driveDeadlineMs,
});

export const Download = z
  .object({
    download_id: z.string().describe('Id of the download.'),
    url: z.string().describe('URL from which the file was downloaded.'),
    suggested_filename: z.string().describe('File name that the site suggests, sanitized for file systems.'),
    status: z.enum(['in_progress', 'completed', 'cancelled', 'too_large']).describe('Status of the download.'),
    received_bytes: z.int().describe('Number of bytes received so far.'),
    total_bytes: z.int().nullable().describe('Size of the file in bytes; null if unknown.'),
    started_at: Timestamp.describe('When the download started (RFC 3339, UTC).'),
    finished_at: Timestamp.nullable().describe('When the download finished (RFC 3339, UTC); null while it is in progress.'),
  })
  .meta({ id: 'DownloadResponse' });
export type DownloadResponse = z.infer<typeof Download>;

export const listDownloads = endpoint({
  id: 'listDownloads',
  method: 'GET',
  path: '/v1/session/{session_id}/downloads',
  tag: 'Driving',
  summary: 'List downloads',
  description: 'Returns the files that pages of the session have downloaded, newest first.',
  auth: 'bearer',
  params: sessionParams,
  reply: z.array(Download),
  status: 200,
  errors: ['session_not_found', 'session_not_ready', 'session_ended', 'store_unavailable'],
});

export const getDownload = endpoint({
  id: 'getDownload',
  method: 'GET',
  path: '/v1/session/{session_id}/downloads/{download_id}',
  tag: 'Driving',
  summary: 'Download a file',
  description: 'Returns the bytes of a file that a page of the session has downloaded. The file is available until the session ends.',
  auth: 'bearer',
  params: sessionParams.extend({ download_id: PathId.describe('Id of the download.') }),
  replyKind: 'bytes',
  replyHeaders: {
    'Content-Disposition': 'Always `attachment`, with the file name that the site suggests.',
    'Content-Length': 'Size of the file in bytes.',
    'X-Content-SHA256': 'SHA-256 checksum of the whole file in hexadecimal.',
  },
  status: 200,
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
/** Linux allows no longer name. */
const fileNameBytesMax = 255;

export const UploadRequest = z
  .strictObject({
    name: boundedString(1, 200)
      .regex(/^[^/\\\p{Cc}]+$/u)
      .refine((name) => !/^\.{1,2}$/.test(name), { error: 'Input should be a file name', params: { type: 'value_error' } })
      .refine((name) => new TextEncoder().encode(name).length <= fileNameBytesMax, {
        error: `String should have at most ${fileNameBytesMax} bytes in UTF-8`,
        params: { type: 'string_too_long', ctx: { max_bytes: fileNameBytesMax } },
      })
      .meta({ description: 'File name without slashes, 1 to 200 characters and at most 255 bytes in UTF-8.', examples: ['photo.jpg'] }),
    data_base64: z
      .base64()
      .max(Math.ceil(uploadBytesMax / 3) * 4)
      .describe('Contents of the file in base64, at most 12 MiB when decoded.'),
  })
  .meta({ id: 'UploadRequest' });
export type UploadRequest = z.infer<typeof UploadRequest>;

export const UploadedFile = z
  .object({
    file_id: z.string().describe('Id of the file, for the `file_ids` of an `upload` step.'),
    name: z.string().describe('File name.'),
    bytes: z.int().describe('Size of the file in bytes.'),
    sha256: z.string().describe('SHA-256 checksum of the file in hexadecimal.'),
    created_at: Timestamp.describe('When the file was uploaded (RFC 3339, UTC).'),
  })
  .meta({ id: 'UploadedFileResponse' });
export type UploadedFileResponse = z.infer<typeof UploadedFile>;

export const uploadFile = endpoint({
  id: 'uploadFile',
  method: 'POST',
  path: '/v1/session/{session_id}/uploads',
  tag: 'Driving',
  summary: 'Upload a file',
  description:
    'Stores a file of at most 12 MiB in the session, so that an `upload` step can give it to a page by its ' +
    '`file_id`, and a DevTools client by its `file_id` or its name. Send it as JSON in base64, or as a form: ' +
    '`curl -F file=@photo.jpg`. The file is deleted when the session ends.',
  auth: 'bearer',
  params: sessionParams,
  body: UploadRequest,
  multipart: { bytes: 'data_base64', name: 'name', bytesMax: uploadBytesMax },
  reply: UploadedFile,
  status: 201,
  errors: ['session_not_found', 'session_not_ready', 'session_ended', 'upload_limit_reached', 'no_capacity', 'store_unavailable'],
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
  'profile.saved',
  'profile.save_failed',
] as const;
export type SessionEventType = (typeof sessionEventTypes)[number];

export const SessionEvent = z
  .object({
    id: z.int().describe('Sequence number of the event within the session.'),
    type: z.enum(sessionEventTypes).describe('Type of the event.'),
    at: Timestamp.describe('When the event occurred (RFC 3339, UTC).'),
    data: z.record(z.string(), z.unknown()).describe('Data of the event; its fields depend on the type.'),
  })
  .meta({ id: 'SessionEventResponse' });
export type SessionEventResponse = z.infer<typeof SessionEvent>;

export const streamEvents = endpoint({
  id: 'streamEvents',
  method: 'GET',
  path: '/v1/session/{session_id}/events',
  tag: 'Driving',
  summary: 'Stream session events',
  description:
    'Streams the events of a session as server-sent events, each with an `id`, its type as `event` and a ' +
    'SessionEventResponse as `data`. The stream starts with new events; with `Last-Event-ID` it resumes after that event ' +
    '(the latest 500 are retained, and 0 returns them all). It ends with the session.',
  auth: 'bearer',
  params: sessionParams,
  replyKind: 'events',
  status: 200,
  errors: ['session_not_found', 'session_not_ready', 'session_ended', 'store_unavailable', 'too_many_streams'],
  deadlineMs: 86_400_000,
});

export const getHar = endpoint({
  id: 'getHar',
  method: 'GET',
  path: '/v1/session/{session_id}/har',
  tag: 'Driving',
  summary: 'Get network traffic',
  description:
    'Returns the network traffic of the session as HAR 1.2. Recording starts with a session that was created with ' +
    '`har: true`, otherwise with the first call to this endpoint. Bodies are not recorded; cookie values and ' +
    'headers with credentials are redacted.',
  auth: 'bearer',
  params: sessionParams,
  reply: z.object({ log: z.record(z.string(), z.unknown()).describe('The HAR 1.2 log: creator, pages and entries.') }),
  status: 200,
  errors: ['session_not_found', 'session_not_ready', 'session_ended', 'store_unavailable'],
});

export const consoleLevels = ['log', 'debug', 'info', 'warning', 'error'] as const;
/** The latest that are retained of a session. */
export const consoleLinesMax = 500;

export const ConsoleLine = z
  .object({
    id: z.int().describe('Sequence number of the line within the session.'),
    at: Timestamp.describe('When the line was written (RFC 3339, UTC).'),
    tab_id: z.string().describe('Id of the tab that wrote it.'),
    level: z.enum(consoleLevels).describe('Level of the line; `error` for uncaught errors, too.'),
    text: z.string().describe('Text of the line, at most 2000 characters.'),
    url: z.string().nullable().describe('URL of the script that wrote it, at most 2048 characters; null if unknown.'),
    line: z.int().nullable().describe('Line number in the script, from 1; null if unknown.'),
  })
  .meta({ id: 'ConsoleLineResponse' });
export type ConsoleLineResponse = z.infer<typeof ConsoleLine>;

export const getConsole = endpoint({
  id: 'getConsole',
  method: 'GET',
  path: '/v1/session/{session_id}/console',
  tag: 'Driving',
  summary: 'List console lines',
  description:
    'Returns the latest 500 lines that the pages of the session have written to their consoles, and their uncaught errors, ' +
    'oldest first. They are collected from the first call to this endpoint. The recording of a session has those from its start.',
  auth: 'bearer',
  params: sessionParams,
  query: z.strictObject({
    after: queryInt(0, Number.MAX_SAFE_INTEGER).default(0).describe('Returns lines with a greater id only. Default: `0`, all of them.'),
  }),
  reply: z.array(ConsoleLine),
  status: 200,
  errors: ['session_not_found', 'session_not_ready', 'session_ended', 'store_unavailable'],
});
