import { z } from 'zod';
import { Block, Captcha } from './block.ts';
import { endpoint } from './endpoint.ts';
import { BrowsableUrl, PathId, Timestamp } from './fields.ts';

export const WaitUntil = z.enum(['load', 'domcontentloaded', 'networkidle', 'commit']);
export type WaitUntil = z.infer<typeof WaitUntil>;
/** `strict` counts weaker evidence, `off` looks for none. */
export const BlockDetection = z.enum(['default', 'strict', 'off']);
export type BlockDetection = z.infer<typeof BlockDetection>;
const TimeoutMs = z.int().min(1000).max(120_000);

export const NavigateRequest = z
  .strictObject({
    url: BrowsableUrl,
    session_id: z.string().max(200).optional().meta({ description: 'The same as in the path, when sent at all.' }),
    wait_until: WaitUntil.default('load'),
    timeout_ms: TimeoutMs.default(30_000),
    referer: BrowsableUrl.optional(),
    block_detection: BlockDetection.default('default'),
    tab_id: z.string().min(1).max(200).optional().meta({ description: 'The active tab when absent.' }),
  })
  .meta({ id: 'NavigateRequest' });
export type NavigateRequest = z.infer<typeof NavigateRequest>;

export const Navigation = z
  .object({
    session_id: z.string(),
    final_url: z.string(),
    title: z.string(),
    status: z.literal('ok'),
    status_code: z
      .int()
      .nullable()
      .meta({ description: 'The page’s real HTTP status; null where there was no HTTP, such as about:blank.' }),
    tab_id: z.string(),
    duration_ms: z.int(),
    block: Block.nullable().meta({ description: 'What stood in the way of the page, where there is evidence.' }),
    captcha: Captcha,
    warnings: z.array(z.string()).meta({ description: 'Such as `possible_block:challenge:cloudflare`, where the evidence is thin.' }),
  })
  .meta({ id: 'Navigation' });
export type NavigateResponse = z.infer<typeof Navigation>;

export const Tab = z
  .object({
    tab_id: z.string(),
    url: z.string(),
    title: z.string(),
    active: z.boolean(),
    opener_tab_id: z.string().nullable(),
    created_at: Timestamp,
    status: z.enum(['loading', 'complete', 'crashed']),
  })
  .meta({ id: 'Tab' });
export type TabResponse = z.infer<typeof Tab>;

export const OpenTabRequest = z
  .strictObject({
    url: BrowsableUrl.optional(),
    active: z.boolean().default(true),
    wait_until: WaitUntil.default('load'),
    timeout_ms: TimeoutMs.default(30_000),
  })
  .meta({ id: 'OpenTabRequest' });
export type OpenTabRequest = z.infer<typeof OpenTabRequest>;

const sessionParams = z.object({ session_id: PathId });
export const driveErrors = [
  'session_not_found',
  'session_not_ready',
  'session_ended',
  'session_busy',
  'session_lost',
  'store_unavailable',
  'deadline_exceeded',
] as const;

/** The queue's 30 s, the longest timeout a caller may ask for, and a margin to answer in. */
export const driveDeadlineMs = 155_000;

export const navigate = endpoint({
  id: 'navigate',
  method: 'POST',
  path: '/v1/session/{session_id}/navigate',
  tag: 'Driving',
  summary: 'Send a tab to an address',
  description:
    'A page that answers 404 or 500 is a success of navigation: see `status_code`. A failed navigation is 502 with the reason in `details`.',
  auth: 'bearer',
  params: sessionParams,
  body: NavigateRequest,
  reply: Navigation,
  status: 200,
  owner: 'session',
  errors: [...driveErrors, 'tab_not_found', 'navigation_failed'],
  cost: 'action',
  deadlineMs: driveDeadlineMs,
});

export const listTabs = endpoint({
  id: 'listTabs',
  method: 'GET',
  path: '/v1/session/{session_id}/tabs',
  tag: 'Driving',
  summary: 'Open tabs, oldest first',
  auth: 'bearer',
  params: sessionParams,
  reply: z.array(Tab),
  status: 200,
  owner: 'session',
  errors: ['session_not_found', 'session_not_ready', 'session_ended', 'store_unavailable'],
});

export const openTab = endpoint({
  id: 'openTab',
  method: 'POST',
  path: '/v1/session/{session_id}/tabs',
  tag: 'Driving',
  summary: 'Open a tab',
  auth: 'bearer',
  params: sessionParams,
  body: OpenTabRequest,
  reply: Tab,
  status: 201,
  owner: 'session',
  errors: [...driveErrors, 'tab_limit_reached', 'navigation_failed'],
  cost: 'action',
  deadlineMs: driveDeadlineMs,
});

export const closeTab = endpoint({
  id: 'closeTab',
  method: 'DELETE',
  path: '/v1/session/{session_id}/tabs/{tab_id}',
  tag: 'Driving',
  summary: 'Close a tab; the last one stays',
  auth: 'bearer',
  params: z.object({ session_id: PathId, tab_id: PathId }),
  status: 204,
  replyKind: 'empty',
  owner: 'session',
  errors: [...driveErrors, 'tab_not_found', 'last_tab'],
  cost: 'action',
  deadlineMs: driveDeadlineMs,
});

export const Rotation = z.object({ session_id: z.string(), rotated: z.boolean(), note: z.string() }).meta({ id: 'Rotation' });

export const rotateIp = endpoint({
  id: 'rotateIp',
  method: 'POST',
  path: '/v1/session/{session_id}/rotate-ip',
  tag: 'Driving',
  summary: 'Take the next proxy of a rotating session',
  auth: 'bearer',
  params: sessionParams,
  reply: Rotation,
  status: 200,
  owner: 'session',
  errors: driveErrors,
  cost: 'action',
  deadlineMs: driveDeadlineMs,
});
