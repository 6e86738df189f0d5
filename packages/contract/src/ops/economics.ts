/** Revenue, cost and margin of the month, for the operator. */
import { z } from 'zod';
import { endpoint } from '../endpoint.ts';
import { Timestamp } from '../fields.ts';

const amount = (what: string) => z.number().describe(`${what}, in \`currency\`.`);

const Revenue = z
  .object({
    subscriptions: amount('Monthly prices of active subscriptions'),
    credits: amount('Credits redeemed with codes, at their price'),
    total: amount('Sum of both'),
  })
  .meta({ id: 'Revenue', description: 'Revenue of the month.' });
const usageCost = {
  vm_hours: amount('Time of browsers'),
  egress: amount('Traffic'),
  captcha: amount('Solved captchas'),
};
const UsageCost = z
  .object({ ...usageCost, total: amount('Sum of all') })
  .meta({ id: 'UsageCost', description: 'Cost of usage, without fixed cost.' });
const margins = {
  margin: amount('Revenue less cost'),
  margin_pct: z.number().nullable().describe('Margin in percent of the revenue, with two decimals; null without revenue.'),
};

export const economicsOwnersMax = 50;

export const Economics = z
  .object({
    object: z.literal('economics').describe('Always `economics`.'),
    month: z.string().describe('The current month in UTC, `YYYY-MM`.'),
    at: Timestamp.describe('Time of the figures (RFC 3339, UTC).'),
    currency: z.string().nullable().describe('Currency of all amounts, ISO 4217; null without a price file.'),
    revenue: Revenue,
    cost: z
      .object({ ...usageCost, fixed: amount('Fixed cost of the whole month'), total: amount('Sum of all') })
      .describe('Cost of the month up to now.'),
    ...margins,
    usage: z
      .object({
        vm_hours: z.number().describe('Hours of browsers, with six decimals.'),
        egress_bytes: z
          .object({
            direct: z.int().describe('Direct traffic.'),
            managed: z.int().describe('Traffic of sessions and fetches with a managed proxy.'),
            rotating: z.int().describe('Traffic of sessions and fetches with rotating proxies.'),
            external: z.int().describe('Traffic of sessions and fetches with a proxy of their own.'),
          })
          .describe('Bytes in both directions, by type of egress.'),
        captcha_solves: z.int().describe('Solved captchas.'),
      })
      .describe('What the cost of usage is made of.'),
    credits: z
      .object({
        granted: z.number().describe('Credits granted by operators, less those taken back.'),
        redeemed: z.number().describe('Credits redeemed with codes.'),
        spent: z.number().describe('Credits charged.'),
      })
      .describe('Credits of the month.'),
    by_plan: z
      .array(
        z.object({
          tier: z.string().describe('Plan.'),
          owners: z.int().describe('Owners on the plan with revenue or usage in this month.'),
          revenue: Revenue,
          cost: UsageCost,
          ...margins,
        }),
      )
      .describe('The same by plan, without fixed cost.'),
    by_owner: z
      .array(
        z.object({
          owner: z.string().describe('Id of the owner.'),
          tier: z.string().describe('Plan of the owner.'),
          revenue: Revenue,
          cost: UsageCost,
          ...margins,
        }),
      )
      .describe(`The ${economicsOwnersMax} owners with the highest cost, without fixed cost; owners of equal cost by revenue.`),
    forecast: z
      .object({
        revenue: amount('Revenue'),
        cost: amount('Cost'),
        ...margins,
      })
      .describe('The whole month, if usage and redeemed credits continue at the average of the month so far.'),
    assumptions: z.array(z.string()).describe('What the figures rest on, and what they leave out, each as a sentence.'),
  })
  .meta({ id: 'EconomicsResponse' });
export type EconomicsResponse = z.infer<typeof Economics>;

export const economics = endpoint({
  id: 'economics',
  method: 'GET',
  path: '/admin/economics',
  tag: 'Operators',
  summary: 'Get economics',
  description:
    'Returns revenue, infrastructure cost and margin of the current month, by plan and owner, with a forecast. Prices come from the ' +
    'file that `BERTH_PRICES_FILE` names; without one they are 0. Figures of usage are at most a few seconds old.',
  auth: 'admin',
  reply: Economics,
  status: 200,
  errors: ['store_unavailable'],
});
