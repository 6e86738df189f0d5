/** Captchas in a session: whether there is one, and who solves it. */
import { z } from 'zod';
import { blockVendors } from './block.ts';
import { endpoint } from './endpoint.ts';
import { PathId, Timestamp } from './fields.ts';

/** Who may solve a captcha: the customer's own endpoint, or a person at the session. */
export const captchaProviders = ['http', 'human'] as const;
export type CaptchaProviderName = (typeof captchaProviders)[number];

export const captchaStates = [
  'undetected',
  'detected',
  'validating',
  'validation_failed',
  'solving',
  'solved',
  'failed_to_detect',
  'failed_to_solve',
] as const;
export type CaptchaState = (typeof captchaStates)[number];

export const captchaTypes = ['turnstile', 'cloudflare_challenge', 'recaptcha', 'hcaptcha', 'arkose', 'other'] as const;
export type CaptchaType = (typeof captchaTypes)[number];

export const CaptchaStatus = z
  .object({
    present: z.boolean(),
    vendor: z.enum(blockVendors).nullable(),
    type: z
      .enum(captchaTypes)
      .nullable()
      .meta({ description: '`cloudflare_challenge` and `other` are walls: only a person at the session passes them.' }),
    state: z.enum(captchaStates).meta({
      description:
        '`undetected` and `failed_to_detect`: there is none, or the page does not answer. `detected`: nobody was asked yet. `solving`: the provider or a person is waited for. `validating`: the page has the answer. `solved`, `validation_failed` and `failed_to_solve`: how it ended; what failed can be tried again.',
    }),
    since: Timestamp.nullable().meta({ description: 'Of the state.' }),
  })
  .meta({ id: 'CaptchaStatus' });
export type CaptchaStatusResponse = z.infer<typeof CaptchaStatus>;

export const getCaptcha = endpoint({
  id: 'getCaptcha',
  method: 'GET',
  path: '/v1/session/{session_id}/captcha',
  tag: 'Driving',
  summary: 'Whether the active tab shows a captcha, and how its solving goes',
  auth: 'bearer',
  params: z.object({ session_id: PathId }),
  reply: CaptchaStatus,
  status: 200,
  owner: 'session',
  errors: ['session_not_found', 'session_not_ready', 'session_ended', 'store_unavailable'],
});
