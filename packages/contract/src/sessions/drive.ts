import { z } from 'zod';
import { boundedString } from '../bounds.ts';
import { Block, Captcha } from '../work/block.ts';
import { endpoint } from '../endpoint.ts';
import { BrowsableUrl, PathId, Timestamp, sessionParams } from '../fields.ts';

export const WaitUntil = z
  .enum(['load', 'domcontentloaded', 'networkidle', 'commit'])
  .describe(
    'Page event to wait for: `commit` (response received), `domcontentloaded`, `load` or `networkidle` (no request open for half a second; event streams, WebSockets, media, beacons and requests that are open for longer than 5 seconds do not count).',
  );
export type WaitUntil = z.infer<typeof WaitUntil>;
export const BlockDetection = z
  .enum(['default', 'strict', 'off'])
  .describe('How block pages are detected. `default`: on clear evidence. `strict`: also on weaker evidence. `off`: not at all.');
export type BlockDetection = z.infer<typeof BlockDetection>;
const TimeoutMs = z.int().min(1000).max(120_000).describe('Maximum time for the call in milliseconds, 1000 to 120000.');

export const NavigateRequest = z
  .strictObject({
    url: BrowsableUrl.describe('URL to open: `http`, `https` or `about:blank`, at most 8192 characters.'),
    session_id: boundedString(0, 200).optional().describe('Id of the session. Optional; if sent, it must equal the id in the path.'),
    wait_until: WaitUntil.default('load').describe(
      'Page event to wait for: `commit` (response received), `domcontentloaded`, `load` or `networkidle` (' +
        'no request open for half a second; event streams, WebSockets, media, beacons and requests that are open for longer than 5 seconds do not count). Default: `load`.',
    ),
    timeout_ms: TimeoutMs.default(30_000).describe('Maximum time for the navigation in milliseconds, 1000 to 120000. Default: 30000.'),
    referer: BrowsableUrl.optional().describe('URL to send as the `Referer` header. Default: none.'),
    block_detection: BlockDetection.default('default').describe(
      'How block pages are detected. `default`: on clear evidence. `strict`: also on weaker evidence. `off`: not at ' +
        'all. Default: `default`.',
    ),
    tab_id: boundedString(1, 200).optional().describe('Id of the tab to navigate. Default: the active tab.'),
  })
  .meta({ id: 'NavigateRequest' });
export type NavigateRequest = z.infer<typeof NavigateRequest>;

export const Navigation = z
  .object({
    session_id: z.string().describe('Id of the session.'),
    final_url: z.string().describe('URL of the page after all redirects.'),
    title: z.string().describe('Title of the page.'),
    status: z.literal('ok').describe('Always `ok`: a failed navigation is a 502 error.'),
    status_code: z.int().nullable().describe('HTTP status of the page; null if there was no HTTP response, such as for `about:blank`.'),
    tab_id: z.string().describe('Id of the tab that was navigated.'),
    duration_ms: z.int().describe('Duration of the navigation in milliseconds.'),
    block: Block.nullable().describe('The detected block, with its evidence; null if the page shows no sign of one.'),
    captcha: Captcha.describe('Captcha on the page.'),
    warnings: z
      .array(z.string())
      .describe(
        'Warnings, such as `possible_block:challenge:cloudflare` when the evidence for a block is weak, and `challenge_cleared:challenge:cloudflare` after a challenge that passed by itself.',
      ),
  })
  .meta({ id: 'NavigateResponse' });
export type NavigateResponse = z.infer<typeof Navigation>;

export const Tab = z
  .object({
    tab_id: z.string().describe('Id of the tab.'),
    url: z.string().describe('URL of the tab.'),
    title: z.string().describe('Title of the tab.'),
    active: z.boolean().describe('Whether this is the active tab, which calls without a `tab_id` use.'),
    opener_tab_id: z.string().nullable().describe('Id of the tab that opened this one; null if no tab did.'),
    created_at: Timestamp.describe('When the tab was opened (RFC 3339, UTC).'),
    status: z.enum(['loading', 'complete', 'crashed']).describe('Loading status of the tab.'),
  })
  .meta({ id: 'TabResponse' });
export type TabResponse = z.infer<typeof Tab>;

export const OpenTabRequest = z
  .strictObject({
    url: BrowsableUrl.optional().describe('URL to open in the tab: `http`, `https` or `about:blank`. Default: an empty page.'),
    active: z.boolean().default(true).describe('Whether the tab becomes the active one. Default: `true`.'),
    wait_until: WaitUntil.default('load').describe(
      'Page event to wait for: `commit` (response received), `domcontentloaded`, `load` or `networkidle` (' +
        'no request open for half a second; event streams, WebSockets, media, beacons and requests that are open for longer than 5 seconds do not count). Default: `load`.',
    ),
    timeout_ms: TimeoutMs.default(30_000).describe(
      'Maximum time for opening the tab and loading `url` in milliseconds, 1000 to 120000. Default: 30000.',
    ),
  })
  .meta({ id: 'OpenTabRequest' });
export type OpenTabRequest = z.infer<typeof OpenTabRequest>;

export const driveErrors = [
  'session_not_found',
  'session_not_ready',
  'session_ended',
  'session_busy',
  'session_lost',
  'store_unavailable',
  'deadline_exceeded',
] as const;

/** 30 s in the queue, the maximum `timeout_ms`, and a margin for the response. */
export const driveDeadlineMs = 155_000;

export const navigate = endpoint({
  id: 'navigate',
  method: 'POST',
  path: '/v1/session/{session_id}/navigate',
  tag: 'Driving',
  summary: 'Navigate to a URL',
  description:
    'Opens a URL in a tab, waits for it to load and returns the result. A page with an HTTP status such as 404 or ' +
    '500 counts as success: see `status_code`. A failed navigation is a 502 error with the reason in `details`.',
  auth: 'bearer',
  params: sessionParams,
  body: NavigateRequest,
  reply: Navigation,
  status: 200,
  errors: [...driveErrors, 'tab_not_found', 'navigation_failed'],
  cost: 'action',
  deadlineMs: driveDeadlineMs,
});

export const listTabs = endpoint({
  id: 'listTabs',
  method: 'GET',
  path: '/v1/session/{session_id}/tabs',
  tag: 'Driving',
  summary: 'List tabs',
  description: 'Returns the open tabs of the session, oldest first.',
  auth: 'bearer',
  params: sessionParams,
  reply: z.array(Tab),
  status: 200,
  errors: ['session_not_found', 'session_not_ready', 'session_ended', 'store_unavailable'],
});

export const openTab = endpoint({
  id: 'openTab',
  method: 'POST',
  path: '/v1/session/{session_id}/tabs',
  tag: 'Driving',
  summary: 'Open a tab',
  description:
    'Opens a tab and returns it, after its page has loaded if a `url` is given. The number of tabs is limited: see ' +
    '`tabs.limit` of the session.',
  auth: 'bearer',
  params: sessionParams,
  body: OpenTabRequest,
  bodyOptional: true,
  reply: Tab,
  status: 201,
  errors: [...driveErrors, 'tab_limit_reached', 'navigation_failed', 'page_failed'],
  cost: 'action',
  deadlineMs: driveDeadlineMs,
});

export const closeTab = endpoint({
  id: 'closeTab',
  method: 'DELETE',
  path: '/v1/session/{session_id}/tabs/{tab_id}',
  tag: 'Driving',
  summary: 'Close a tab',
  description: 'Closes a tab, free of charge. The last tab of a session cannot be closed: end the session instead.',
  auth: 'bearer',
  params: sessionParams.extend({ tab_id: PathId.describe('Id of the tab.') }),
  status: 204,
  replyKind: 'empty',
  errors: [...driveErrors, 'tab_not_found', 'last_tab', 'page_failed'],
  deadlineMs: driveDeadlineMs,
});

export const Rotation = z
  .object({
    session_id: z.string().describe('Id of the session.'),
    rotated: z.boolean().describe('Whether the egress was changed.'),
    note: z.string().describe('What happened, in one sentence.'),
  })
  .meta({ id: 'RotateIpResponse' });

export const rotateIp = endpoint({
  id: 'rotateIp',
  method: 'POST',
  path: '/v1/session/{session_id}/rotate-ip',
  tag: 'Driving',
  summary: 'Rotate the egress IP address',
  description:
    'Switches a session with a rotating proxy to the next proxy of its list. For other sessions nothing changes ' +
    'and `rotated` is false; such a call is free.',
  auth: 'bearer',
  params: sessionParams,
  reply: Rotation,
  status: 200,
  errors: driveErrors,
  cost: 'action',
  deadlineMs: driveDeadlineMs,
});
