/** A session in responses. */
import { z } from 'zod';
import { captchaProviders } from './captcha.ts';
import { navigationFailures } from '../errors.ts';
import { Timestamp } from '../fields.ts';
import { SessionProfile } from './profiles.ts';
import { recordingStatuses } from '../watch/recordings.ts';
import { SessionKind, Viewport, egressTypes } from './session-request.ts';

export const sessionStatuses = ['starting', 'ready', 'ending', 'ended', 'failed'] as const;
export type SessionStatus = (typeof sessionStatuses)[number];

/** What a session is for. */
export const sessionPurposes = ['session', 'fetch'] as const;

/** Reasons may be added to this list; statuses may not. */
export const endedReasons = [
  'requested',
  'idle_timeout',
  'max_lifetime',
  'admin',
  'plan_limit',
  'credits_exhausted',
  'start_failed',
  'browser_crashed',
  'browser_unresponsive',
  'vm_lost',
  'worker_lost',
  'out_of_memory',
  'cdp_closed',
  'drained',
] as const;
export type EndedReason = (typeof endedReasons)[number];

export const StartNavigation = z
  .object({
    url: z.string().describe('URL that was requested as `start_url`.'),
    status: z.enum(['ok', 'failed']).describe('Whether the navigation succeeded.'),
    status_code: z.int().nullable().describe('HTTP status of the page; null if no HTTP response was received.'),
    reason: z.enum(navigationFailures).nullable().describe('Why the navigation failed; null if it succeeded.'),
    net_error: z
      .string()
      .nullable()
      .describe('Network error as the browser names it, such as `net::ERR_NAME_NOT_RESOLVED`; null if it succeeded or the page crashed.'),
    message: z.string().nullable().describe('What went wrong and what to do; null if the navigation succeeded.'),
  })
  .meta({ id: 'StartNavigation' });

export const Session = z
  .object({
    session_id: z.string().meta({ description: 'Id of the session.', examples: ['ses_3k2v9q0d7m5x1c8b4n6z2f7h'] }),
    object: z.literal('session').describe('Always `session`.'),
    status: z.enum(sessionStatuses).describe('Status of the session. `ready` sessions accept calls; `ended` and `failed` are final.'),
    ended_reason: z.enum(endedReasons).nullable().describe('Why the session ended; null while it is live. New reasons may be added.'),
    kind: SessionKind.describe('Kind of browser: `headless`, or `full_browser` with windows on a display.'),
    purpose: z
      .enum(sessionPurposes)
      .describe('`session`: created by you. `fetch`: created by the service to run your fetches, and ended by the service.'),
    region: z.string().describe('Region from which the session’s traffic leaves, unless it uses a proxy of your own.'),
    name: z.string().nullable().describe('Name of the session; null if it has none.'),
    metadata: z.record(z.string(), z.string()).describe('Metadata of the session, as key-value pairs.'),
    created_at: Timestamp.describe('When the session was created (RFC 3339, UTC).'),
    started_at: Timestamp.nullable().describe('When the browser was ready (RFC 3339, UTC); null before that.'),
    last_activity_at: Timestamp.describe('Time of the last activity that reset the idle timer (RFC 3339, UTC).'),
    expires_at: Timestamp.describe('When the session reaches its maximum lifetime (RFC 3339, UTC).'),
    ended_at: Timestamp.nullable().describe('When the session ended (RFC 3339, UTC); null while it is live.'),
    timeout_seconds: z.int().describe('Maximum lifetime in seconds, counted from the creation.'),
    idle_timeout_seconds: z.int().describe('Seconds after which the session ends if nothing calls it and no DevTools client is connected.'),
    keep_alive: z.boolean().describe('Whether the session continues after its last DevTools client disconnects.'),
    current_url: z.string().nullable().describe('URL of the active tab; null if no tab is known.'),
    title: z.string().nullable().describe('Title of the active tab; null if no tab is known.'),
    viewport: Viewport.describe('Size of the page area.'),
    user_agent: z.string().nullable().describe('User agent that pages see; null while the browser starts, unless one was set.'),
    locale: z.string().nullable().describe('Locale that was set for the session, as a BCP 47 tag; null for the browser’s default.'),
    timezone: z.string().nullable().describe('Time zone that was set for the session, as an IANA name; null for the default.'),
    connect_url: z.string().describe('URL at which `GET` returns a connect token and a DevTools address for Playwright and Puppeteer.'),
    cdp_url: z
      .string()
      .describe('WebSocket URL of the Chrome DevTools Protocol. It contains no secret: send `Authorization: Bearer` with your API key.'),
    live_view_url: z
      .string()
      .describe(
        'URL of the live view, without a secret. In a browser that is signed in to the dashboard it opens at once; others are asked to sign in. For somebody else, `POST …/view-token` returns a link. Programs get 401 without one.',
      ),
    proxy: z
      .object({
        type: z.enum(['none', 'managed', 'rotating', 'external']).describe('Type of the proxy.'),
        server: z.string().nullable().describe('Address of the proxy without credentials; null if the type has no single server.'),
        country: z.string().nullable().describe('Country of the proxies, ISO 3166-1 alpha-2; null if none was requested.'),
        rotate: z.string().describe('When the next proxy of a `rotating` list is used: `on_request` or `every_connection`.'),
        bypass: z.array(z.string()).describe('Host patterns that are reached without the proxy.'),
      })
      .nullable()
      .describe('Proxy that the request named, without credentials; null for the region’s egress, which `egress` describes.'),
    profile: SessionProfile.nullable().describe('Profile with which the session started; null without one.'),
    block_ads: z.boolean().describe('Whether connections to known advertising and tracking hosts are refused.'),
    allowed_domains: z
      .array(z.string())
      .nullable()
      .describe('The only hosts that pages and their resources may reach, as patterns; null for no restriction.'),
    captcha: z
      .object({
        mode: z.enum(['detect', 'solve']).describe('Whether captchas are only reported, or also solved.'),
        provider: z.enum(captchaProviders).nullable().describe('Who solves captchas; null for all configured providers.'),
      })
      .describe('How the session handles captchas.'),
    egress: z
      .object({
        type: z
          .enum(egressTypes)
          .nullable()
          .describe('How traffic leaves: `direct`, or through proxies of this type; null before the session is ready.'),
        ip: z.string().nullable().describe('Public IP address that sites see; null unless the operator’s regions file states it.'),
        country: z
          .string()
          .nullable()
          .describe(
            'Country of the egress, ISO 3166-1 alpha-2: of the proxy, or of the region if traffic leaves directly; null if unknown.',
          ),
        rotations: z.int().describe('Number of times the egress has been rotated.'),
        rotated_at: Timestamp.nullable().describe('When the egress was last rotated (RFC 3339, UTC); null if never.'),
      })
      .describe('Address from which the session’s traffic leaves.'),
    tabs: z
      .object({ open: z.int().describe('Number of open tabs.'), limit: z.int().describe('Maximum number of open tabs.') })
      .describe('Tabs of the session.'),
    connections: z
      .object({
        cdp: z.int().describe('Number of open DevTools connections.'),
        viewers: z.int().describe('Number of open live view and VNC connections.'),
      })
      .describe('Clients that are connected to the session.'),
    recording: z
      .object({
        enabled: z.boolean().describe('Whether the session was created with `record: true`.'),
        rec_id: z.string().nullable().describe('Id of the recording; null if there is none.'),
        status: z.enum(recordingStatuses).nullable().describe('Status of the recording; null if there is none.'),
      })
      .describe('Recording of the session.'),
    usage: z
      .object({
        actions: z.int().describe('Number of actions.'),
        browser_seconds: z.int().describe('Browser time in seconds.'),
        egress_bytes: z.int().describe('Network traffic in bytes, in both directions.'),
        captcha_solves: z.int().describe('Number of captchas solved by a provider.'),
        credits: z.number().describe('Credits that this usage costs, including any part that the wallet could not cover.'),
      })
      .describe('Resources that the session has used.'),
    isolation: z
      .enum(['microvm', 'process'])
      .describe('How the browser is isolated: `microvm` in a virtual machine, `process` in Linux namespaces.'),
    runtime: z.string().meta({ description: 'Name of the runtime that runs the machine.', examples: ['process'] }),
    start_navigation: StartNavigation.nullable().describe(
      'Result of the navigation to `start_url`; null if none was requested or it has not finished.',
    ),
    warm: z.boolean().describe('Whether the machine came from the warm pool.'),
  })
  .meta({ id: 'SessionResponse' });
export type SessionResponse = z.infer<typeof Session>;

export const AdminSession = Session.extend({
  owner: z.string().describe('Id of the session’s owner.'),
  key_id: z.string().nullable().describe('Id of the API key that created the session; null if no key did.'),
  worker_id: z.string().describe('Id of the worker that runs the session.'),
  vm_id: z.string().nullable().describe('Id of the machine; null if the session has none.'),
  pid: z.int().nullable().describe('Process id of the machine on its worker; null if unknown.'),
  cost: z.object({ credits: z.number().describe('Credits charged for the session.') }).describe('Cost of the session.'),
}).meta({ id: 'AdminSessionResponse' });
export type AdminSessionResponse = z.infer<typeof AdminSession>;
