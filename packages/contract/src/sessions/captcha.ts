/** The captcha status of a session. */
import { z } from 'zod';
import { BlockVendor } from '../work/block.ts';
import { endpoint } from '../endpoint.ts';
import { Timestamp, sessionParams } from '../fields.ts';

/** `http`: the operator's solver endpoint. `human`: a person in the live view. */
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
    present: z.boolean().describe('Whether the active tab shows a captcha.'),
    vendor: BlockVendor.nullable().describe('Vendor of the captcha; null when no captcha is detected.'),
    type: z
      .enum(captchaTypes)
      .nullable()
      .describe(
        'Kind of captcha; null when no captcha is detected. `cloudflare_challenge` and `other` cannot be solved by a ' +
          'provider: only a person in the live view can pass them.',
      ),
    state: z
      .enum(captchaStates)
      .describe(
        'State of the captcha. `undetected` and `failed_to_detect`: no captcha, or the page does not respond. ' +
          '`detected`: found, and no solver has been called. `solving`: waiting for the provider or a person. ' +
          '`validating`: the page has received the token. `solved`, `validation_failed` and `failed_to_solve`: final ' +
          'states; a captcha that failed can be tried again.',
      ),
    since: Timestamp.nullable().describe('When the captcha entered this state; null when no captcha is detected.'),
  })
  .meta({ id: 'CaptchaStatusResponse' });
export type CaptchaStatusResponse = z.infer<typeof CaptchaStatus>;

export const getCaptcha = endpoint({
  id: 'getCaptcha',
  method: 'GET',
  path: '/v1/session/{session_id}/captcha',
  tag: 'Driving',
  summary: 'Get the captcha status',
  description: 'Returns whether the active tab shows a captcha, and the state of its solving.',
  auth: 'bearer',
  params: sessionParams,
  reply: CaptchaStatus,
  status: 200,
  errors: ['session_not_found', 'session_not_ready', 'session_ended', 'session_lost', 'tab_not_found', 'store_unavailable'],
});
