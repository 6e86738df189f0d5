/** The dashboard: its page, and what the page shows of this service before anybody has signed in. */
import { z } from 'zod';
import { captchaProviders } from '../sessions/captcha.ts';
import { endpoint } from '../endpoint.ts';
import { PathId } from '../fields.ts';
import { recordingVideos } from '../watch/recordings.ts';
import { Region } from '../fleet/regions.ts';
import { Limits } from '../accounts/usage.ts';

export const DashboardConfig = z
  .object({
    version: z.string().describe('Version of the service.'),
    regions: z.array(Region).describe('The regions, as `GET /v1/regions` returns them.'),
    sign_in: z
      .object({
        login: z.boolean().describe('Whether login tokens are accepted, with which people manage keys and billing.'),
        issuer: z.string().nullable().describe('Issuer of login tokens; null if the service is not configured with one.'),
        development: z.boolean().describe('Whether the development sign-in is served at `/dev-idp`.'),
      })
      .describe('How people sign in, besides with an API key or the admin key.'),
    features: z
      .object({
        billing: z.boolean().describe('Whether plans can be bought.'),
        credits_enforced: z.boolean().describe('Whether calls of owners with an empty wallet are refused.'),
        captcha_providers: z.array(z.enum(captchaProviders)).describe('Who can solve captchas; empty if they are only detected.'),
        recording_video: z.enum(recordingVideos).describe('Format of recorded videos.'),
        evaluate: z.boolean().describe('Whether steps may run a client’s own JavaScript in a page.'),
        language_model: z.boolean().describe('Whether a language model is configured, which the flow `llm_task` needs.'),
      })
      .describe('What the operator has configured.'),
    plans: z
      .array(
        z.object({
          tier: z.string().describe('Name of the plan, for `POST /v1/billing/checkout`.'),
          concurrency_limit: z.int().nullable().describe('Maximum number of live sessions; null: that of the service.'),
          max_session_seconds: z.int().describe('Maximum `timeout_seconds` of a session.'),
          limits: Limits,
        }),
      )
      .describe('Plans that can be bought; empty where `features.billing` is false.'),
    links: z
      .object({
        docs: z.string().describe('Path of the guides.'),
        reference: z.string().describe('Path of the API reference.'),
        openapi: z.string().describe('Path of the OpenAPI document.'),
      })
      .describe('Pages that explain the service.'),
  })
  .meta({ id: 'DashboardConfigResponse' });
export type DashboardConfig = z.infer<typeof DashboardConfig>;

const page = {
  method: 'GET',
  tag: 'Viewing',
  auth: 'none',
  // People open it by links, to which other programs add parameters of their own.
  query: z.object({}),
  reply: z.string(),
  replyKind: 'html',
  status: 200,
  errors: [],
} as const;

export const openDashboard = endpoint({
  ...page,
  id: 'openDashboard',
  path: '/dashboard',
  summary: 'Open the dashboard',
  description:
    'Returns the dashboard as a web page. It needs no credential and holds no data: people sign in on it, and it calls ' +
    'this API with what they entered.',
});

export const openDashboardPage = endpoint({
  ...page,
  id: 'openDashboardPage',
  path: '/dashboard/{path}',
  summary: 'Open a page of the dashboard',
  description: 'Returns the dashboard, which then shows the page of this address, such as `/dashboard/sessions`.',
  params: z.object({ path: PathId.describe('Page of the dashboard, such as `sessions`.') }),
  isPathOpen: true,
});

export const getDashboardConfig = endpoint({
  id: 'getDashboardConfig',
  method: 'GET',
  path: '/dashboard/config.json',
  tag: 'Viewing',
  summary: 'Get the dashboard configuration',
  description: 'Returns what the dashboard shows of this service before anybody has signed in. It contains no secret.',
  auth: 'none',
  reply: DashboardConfig,
  status: 200,
  errors: [],
});
