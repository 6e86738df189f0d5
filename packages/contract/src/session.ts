/** What a session is told as. */
import { z } from 'zod';
import { navigationFailures } from './errors.ts';
import { Timestamp } from './fields.ts';
import { recordingStatuses } from './recordings.ts';
import { SessionKind, Viewport } from './session-request.ts';

export const sessionStatuses = ['starting', 'ready', 'ending', 'ended', 'failed'] as const;
export type SessionStatus = (typeof sessionStatuses)[number];

/** Why a session is over. Causes may be added; statuses may not. */
export const endedReasons = [
  'requested',
  'idle_timeout',
  'max_lifetime',
  'admin',
  'plan_limit',
  'credits_exhausted',
  'start_failed',
  'browser_crashed',
  'vm_lost',
  'worker_lost',
  'out_of_memory',
  'cdp_closed',
  'drained',
] as const;
export type EndedReason = (typeof endedReasons)[number];

export const StartNavigation = z
  .object({
    url: z.string(),
    status: z.enum(['ok', 'failed']),
    status_code: z.int().nullable(),
    reason: z.enum(navigationFailures).nullable(),
    net_error: z.string().nullable(),
  })
  .meta({ id: 'StartNavigation' });

export const Session = z
  .object({
    session_id: z.string().meta({ examples: ['ses_3k2v9q0d7m5x1c8b4n6z2f7h'] }),
    object: z.literal('session'),
    status: z.enum(sessionStatuses),
    ended_reason: z.enum(endedReasons).nullable(),
    kind: SessionKind,
    purpose: z
      .enum(['session', 'fetch'])
      .meta({ description: '`fetch`: a machine that the service started for your fetches, and ends by itself.' }),
    region: z.string(),
    name: z.string().nullable(),
    metadata: z.record(z.string(), z.string()),
    created_at: Timestamp,
    started_at: Timestamp.nullable(),
    last_activity_at: Timestamp,
    expires_at: Timestamp,
    ended_at: Timestamp.nullable(),
    timeout_seconds: z.int(),
    idle_timeout_seconds: z.int(),
    keep_alive: z.boolean(),
    current_url: z.string().nullable(),
    title: z.string().nullable(),
    viewport: Viewport,
    user_agent: z.string().nullable(),
    locale: z.string().nullable(),
    timezone: z.string().nullable(),
    connect_url: z.string().meta({ description: 'Where `GET` answers with a token and an address for Playwright and Puppeteer.' }),
    cdp_url: z.string().meta({ description: 'The DevTools socket. Holds no secret: send `Authorization: Bearer`.' }),
    live_view_url: z.string().meta({ description: 'The page for people. Needs a token: ask `POST …/view-token` for a whole link.' }),
    proxy: z
      .object({
        type: z.enum(['none', 'managed', 'rotating', 'external']),
        server: z.string().nullable(),
        country: z.string().nullable(),
        rotate: z.string(),
        bypass: z.array(z.string()),
      })
      .nullable(),
    egress: z.object({
      ip: z.string().nullable().meta({ description: 'The address that sites see, where the regions file tells it.' }),
      country: z.string().nullable(),
      rotations: z.int(),
      rotated_at: Timestamp.nullable(),
    }),
    tabs: z.object({ open: z.int(), limit: z.int() }),
    connections: z.object({ cdp: z.int(), viewers: z.int() }),
    recording: z.object({ enabled: z.boolean(), rec_id: z.string().nullable(), status: z.enum(recordingStatuses).nullable() }),
    usage: z.object({
      actions: z.int(),
      browser_seconds: z.int(),
      egress_bytes: z.int(),
      captcha_solves: z.int(),
      credits: z.number().meta({ description: 'What all of it costs, also where the wallet had less.' }),
    }),
    isolation: z.enum(['microvm', 'process']),
    runtime: z.string().meta({ examples: ['process'] }),
    start_navigation: StartNavigation.nullable(),
    warm: z.boolean().meta({ description: 'Whether its machine was handed out of the warm pool.' }),
  })
  .meta({ id: 'Session' });
export type SessionResponse = z.infer<typeof Session>;

export const AdminSession = Session.extend({
  owner: z.string(),
  key_id: z.string().nullable(),
  worker_id: z.string(),
  vm_id: z.string().nullable(),
  pid: z.int().nullable(),
  cost: z.object({ credits: z.number() }),
}).meta({ id: 'AdminSession' });
export type AdminSessionResponse = z.infer<typeof AdminSession>;
