/** What an owner has used this month, against its plan. */
import { z } from 'zod';
import { endpoint } from './endpoint.ts';
import { Timestamp } from './fields.ts';

/** What a plan may limit, by the month (UTC). */
export const limitedAxes = ['actions', 'egress_bytes', 'browser_seconds', 'captcha_solves'] as const;
export type LimitedAxis = (typeof limitedAxes)[number];

const Limits = z
  .object({
    actions: z.int().nullable(),
    egress_bytes: z.int().nullable(),
    browser_seconds: z.int().nullable(),
    captcha_solves: z.int().nullable(),
  })
  .meta({ description: 'null: as much as it likes.' });

export const Usage = z
  .object({
    tier: z.string().meta({ description: 'The plan that counts now: a trial’s while one runs.', examples: ['free'] }),
    month: z.string().meta({ description: 'Of the calendar in UTC.', examples: ['2026-11'] }),
    usage: z.object({
      actions: z.int(),
      egress_bytes: z.int().meta({ description: 'Both ways, as counted where browsers leave this service.' }),
      browser_seconds: z.int(),
      sessions: z.int(),
      captcha_solves: z.int(),
    }),
    limits: Limits,
    remaining: Limits,
    concurrency_limit: z.int().nullable().meta({ description: 'Sessions alive at once; null: as many as it likes.' }),
    premium_egress: z.boolean().meta({ description: 'Whether managed and rotating proxies may be used.' }),
    overage_allowed: z.boolean().meta({ description: 'Whether use beyond the limits goes on.' }),
    enforced: z.boolean().meta({ description: 'Whether the limits are applied at all.' }),
    resets_at: Timestamp.meta({ description: 'When the next month begins.' }),
    trial_ends_at: Timestamp.nullable().meta({ description: 'When the plan falls back to the one before the trial; null without one.' }),
  })
  .meta({ id: 'Usage' });
export type UsageResponse = z.infer<typeof Usage>;

export const getUsage = endpoint({
  id: 'getUsage',
  method: 'GET',
  path: '/v1/usage',
  tag: 'Usage',
  summary: 'What was used this month, and what is left',
  description: 'What this worker has seen is told at once; what other workers of a fleet have seen, after a few seconds.',
  auth: 'bearer',
  reply: Usage,
  status: 200,
  errors: [],
});
