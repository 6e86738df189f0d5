/** Usage and limits of an owner in the current month. */
import { z } from 'zod';
import { endpoint } from '../endpoint.ts';
import { Timestamp, queryInt } from '../fields.ts';

/** Usage that a plan can limit per calendar month (UTC). */
export const limitedAxes = ['actions', 'egress_bytes', 'browser_seconds', 'captcha_solves'] as const;
export type LimitedAxis = (typeof limitedAxes)[number];

export const Limits = z
  .object({
    actions: z.int().nullable().describe('Number of actions; null: unlimited.'),
    egress_bytes: z.int().nullable().describe('Network traffic in bytes; null: unlimited.'),
    browser_seconds: z.int().nullable().describe('Browser time in seconds; null: unlimited.'),
    captcha_solves: z.int().nullable().describe('Number of captchas solved by a provider; null: unlimited.'),
  })
  .meta({ id: 'UsageLimits', description: 'Limits per calendar month; null: unlimited.' });

/** Half a year is enough for any chart, and a reply of some kilobytes. */
export const usageDaysMax = 184;

const totals = {
  actions: z.int().describe('Number of actions.'),
  egress_bytes: z.int().describe('Network traffic in bytes, in both directions, as measured at the egress of the service.'),
  browser_seconds: z.int().describe('Browser time in seconds, rounded down.'),
  sessions: z.int().describe('Number of sessions created.'),
  captcha_solves: z.int().describe('Number of captchas solved by a provider.'),
};

const UsageDay = z.object({
  day: z.string().meta({ description: 'Day in UTC, as `YYYY-MM-DD`.', examples: ['2026-11-21'] }),
  ...totals,
});
export type UsageDay = z.infer<typeof UsageDay>;

export const Usage = z
  .object({
    tier: z.string().meta({ description: 'Plan in effect: that of a trial while one is active.', examples: ['free'] }),
    month: z.string().meta({ description: 'Calendar month in UTC, as `YYYY-MM`.', examples: ['2026-11'] }),
    usage: z.object(totals).describe('Usage in this month.'),
    limits: Limits.describe('Limits of the plan per month; null: unlimited.'),
    remaining: Limits.describe('What remains of the limits this month; null: unlimited.'),
    concurrency_limit: z.int().describe('Maximum number of live sessions: that of the plan, or that of a worker if the plan has none.'),
    premium_egress: z.boolean().describe('Whether managed and rotating proxies may be used.'),
    overage_allowed: z.boolean().describe('Whether usage beyond the limits is allowed.'),
    enforced: z.boolean().describe('Whether the limits are enforced.'),
    resets_at: Timestamp.describe('When the next month begins (RFC 3339, UTC).'),
    trial_ends_at: Timestamp.nullable().describe(
      'When the trial ends and the previous plan applies again (RFC 3339, UTC); null without a trial.',
    ),
    days: z
      .array(UsageDay)
      .optional()
      .describe(
        'Usage of each of the last `days` days, oldest first, today included. Absent unless `days` was sent. Up to two seconds old.',
      ),
  })
  .meta({ id: 'UsageResponse' });
export type UsageResponse = z.infer<typeof Usage>;

export const getUsage = endpoint({
  id: 'getUsage',
  method: 'GET',
  path: '/v1/usage',
  tag: 'Usage',
  summary: 'Get usage',
  description:
    'Returns your usage in the current calendar month (UTC), the limits of your plan and what remains. Usage on ' +
    'other workers of a fleet appears after a few seconds. With `days`, also returns the usage of each day.',
  auth: 'bearer',
  query: z.strictObject({
    days: queryInt(1, usageDaysMax)
      .optional()
      .describe(`Number of days to report in \`days\`, 1 to ${usageDaysMax}, ending with today (UTC). Default: none.`),
  }),
  reply: Usage,
  status: 200,
  errors: [],
});
