/** Endpoints of the self-heal data about sites: blocks, health and strategies. */
import { z } from 'zod';
import { boundedString } from '../bounds.ts';
import { BlockEvidence, BlockVendor, blockTypes, confidences } from './block.ts';
import { endpoint } from '../endpoint.ts';
import { Timestamp, pageHeaders, pageQuery, queryInt } from '../fields.ts';

/** Strategies in the order in which they are tried, the least intrusive first. */
export const strategyNames = [
  'direct',
  'wait_retry',
  'throttle',
  'rotate_egress',
  'fresh_context',
  'full_browser',
  'captcha_provider',
  'human',
] as const;
export type StrategyName = (typeof strategyNames)[number];

export const siteStates = ['healthy', 'degraded', 'blocked', 'cooldown', 'unknown'] as const;
export type SiteState = (typeof siteStates)[number];

export const BlockEvent = z
  .object({
    event_id: z.string().describe('Id of the event.'),
    ts: z.number().describe('When the block occurred, in Unix seconds: the time that `since` filters on.'),
    created_at: Timestamp.describe('The same time in RFC 3339, UTC.'),
    owner: z.string().describe('Id of the owner.'),
    domain: z.string().describe('Registrable domain of the site, or its host if there is none, such as an IP address.'),
    url: z.string().describe('URL of the page without credentials, query and fragment.'),
    type: z.enum(blockTypes).describe('Type of block.'),
    vendor: BlockVendor.describe('Vendor of the protection that blocked the page.'),
    confidence: z.enum(confidences).describe('Confidence of the detection.'),
    evidence: z.array(BlockEvidence).describe('Evidence for the block.'),
    status_code: z.int().nullable().describe('HTTP status of the page; null if no response was received.'),
    job_id: z.string().nullable().describe('Id of the fetch’s job; null for a navigation.'),
    session_id: z.string().nullable().describe('Id of the session; null if no browser was used.'),
    task: z.string().describe('Task that was blocked: `fetch` or `navigate`.'),
    region: z.string().describe('Region of the egress.'),
    egress: z
      .object({
        type: z.string().describe('Type of egress, such as `direct` or a proxy type.'),
        country: z.string().nullable().describe('Country of the egress, ISO 3166-1 alpha-2; null if unknown.'),
        ip_hash: z
          .string()
          .nullable()
          .describe(
            'Hash of the egress address, the same for the same address on this installation; null if the address is ' +
              'unknown. The address itself is not stored.',
          ),
      })
      .describe('Egress that was used.'),
    kind: z.string().describe('Kind of machine that was used.'),
    attempt: z.int().describe('Number of the attempt within its task, from 1.'),
    strategy: z.enum(strategyNames).describe('Strategy of the attempt that was blocked.'),
    resolved: z.boolean().describe('Whether a later attempt of the same task succeeded.'),
    resolved_by: z.enum(strategyNames).nullable().describe('Strategy of the attempt that succeeded; null if none did.'),
    duration_ms: z.int().describe('Duration of the attempt in milliseconds.'),
  })
  .meta({ id: 'BlockEventResponse' });
export type BlockEventResponse = z.infer<typeof BlockEvent>;

export const SiteHealth = z
  .object({
    domain: z.string().describe('Registrable domain of the site.'),
    owner: z.string().describe('Id of the owner.'),
    state: z.enum(siteStates).describe('State of the site for this owner.'),
    success_rate: z.number().nullable().describe('Share of successful attempts in the window, 0 to 1; null without an attempt.'),
    window: z
      .object({
        attempts: z.int().describe('Number of attempts.'),
        ok: z.int().describe('Number of successful attempts.'),
        blocked: z.int().describe('Number of blocked attempts.'),
        error: z.int().describe('Number of failed attempts.'),
        since: Timestamp.nullable().describe('When the first attempt in the window started (RFC 3339, UTC); null without an attempt.'),
      })
      .describe('The last 50 attempts.'),
    consecutive_blocks: z.int().describe('Blocks of high confidence since the last success. Three start a cooldown.'),
    last_ok_at: Timestamp.nullable().describe('When an attempt last succeeded (RFC 3339, UTC); null if never.'),
    last_block_at: Timestamp.nullable().describe('When an attempt was last blocked (RFC 3339, UTC); null if never.'),
    last_block_type: z.enum(blockTypes).nullable().describe('Type of the last block; null if there was none.'),
    vendor: BlockVendor.nullable().describe('Vendor of the last block; null if there was none.'),
    best_strategy: z.enum(strategyNames).nullable().describe('Strategy with the best score so far; null if none has succeeded.'),
    cooldown_until: Timestamp.nullable().describe('When the cooldown ends (RFC 3339, UTC); null if there is none.'),
    avg_latency_ms: z
      .int()
      .nullable()
      .describe('Average duration of the attempts in the window, in milliseconds; null without an attempt.'),
    updated_at: Timestamp.nullable().describe('When the last attempt ended (RFC 3339, UTC); null without an attempt.'),
  })
  .meta({ id: 'SiteHealthResponse' });
export type SiteHealthResponse = z.infer<typeof SiteHealth>;

export const Strategies = z
  .object({
    owner: z.string().describe('Id of the owner.'),
    domain: z.string().describe('Registrable domain of the site.'),
    strategies: z
      .array(
        z.object({
          name: z.enum(strategyNames).describe('Name of the strategy.'),
          attempts: z.int().describe('Number of attempts.'),
          successes: z.int().describe('Number of successful attempts.'),
          blocks: z.int().describe('Number of blocked attempts.'),
          errors: z.int().describe('Number of failed attempts.'),
          success_rate: z
            .number()
            .nullable()
            .describe('Share of successful attempts of all recorded ones, 0 to 1; null without an attempt.'),
          score: z
            .number()
            .nullable()
            .describe('Lower bound of the 95 % Wilson interval over the last 50 attempts; null without an attempt.'),
          avg_latency_ms: z.int().nullable().describe('Average duration in milliseconds; null without an attempt.'),
          avg_cost_credits: z
            .number()
            .nullable()
            .describe('Average cost of an attempt in credits: its actions, traffic and solved captchas; null without an attempt.'),
          last_used_at: Timestamp.nullable().describe('When the strategy was last used (RFC 3339, UTC); null if never.'),
          enabled: z.boolean().describe('Whether the service can use the strategy. Some require a proxy list or a captcha provider.'),
        }),
      )
      .describe('All strategies in the order in which they are tried.'),
    current: z.enum(strategyNames).describe('Strategy with which the next task on this site starts.'),
    next_probe_at: Timestamp.nullable().describe(
      'When the cooldown ends and the site is tried again (RFC 3339, UTC); null if there is none.',
    ),
  })
  .meta({ id: 'StrategiesResponse' });
export type StrategiesResponse = z.infer<typeof Strategies>;

const Counts = z.record(z.string(), z.int());

export const SelfHealOverview = z
  .object({
    window_hours: z.int().describe('Length of the window in hours.'),
    totals: z
      .object({
        attempts: z.int().describe('Number of attempts.'),
        ok: z.int().describe('Number of successful attempts.'),
        blocked: z.int().describe('Number of blocked attempts.'),
        error: z.int().describe('Number of failed attempts.'),
        healed: z.int().describe('Number of tasks that met a block and succeeded in the end.'),
        unresolved: z.int().describe('Number of tasks that met a block and did not succeed.'),
      })
      .describe('Attempts by result, and tasks that met a block.'),
    heal_rate: z
      .number()
      .nullable()
      .describe('Share of tasks that succeeded in the end, of those that met a block, 0 to 1; null without a block.'),
    by_type: Counts.describe('Number of blocks by type.'),
    by_vendor: Counts.describe('Number of blocks by vendor.'),
    by_strategy: Counts.describe('Number of healed tasks by the strategy that succeeded.'),
    top_domains: z
      .array(
        z.object({
          owner: z.string().describe('Id of the owner.'),
          domain: z.string().describe('Registrable domain of the site.'),
          blocks: z.int().describe('Number of blocks.'),
          state: z.enum(siteStates).describe('State of the site for this owner.'),
        }),
      )
      .describe('Sites with the most blocks, at most ten.'),
    cooldowns: z.int().describe('Number of sites in a cooldown now.'),
    selector_heals: z
      .object({
        verified: z.int().describe('Number of replacements that later runs have confirmed.'),
        unverified: z.int().describe('Number of replacements that no later run has confirmed.'),
        failed: z.int().describe('Number of selectors for which no replacement was found.'),
      })
      .describe('Selectors of flows that no longer matched.'),
    skills: z
      .object({
        active: z.int().describe('Number of skills in use.'),
        quarantined: z.int().describe('Number of skills that are not used because they failed repeatedly.'),
      })
      .describe('Stored skills.'),
  })
  .meta({ id: 'SelfHealOverviewResponse' });
export type SelfHealOverviewResponse = z.infer<typeof SelfHealOverview>;

/** Owner in a query. A text that is no owner's id stands for an owner of whom nothing is known. */
const Owner = boundedString(0, 200);
const ownerFilter = (what: string) => Owner.optional().describe(`Only ${what} of this owner. None belongs to an unknown owner.`);
const domainFilter = boundedString(0, 253)
  .optional()
  .describe('Only blocks by this site. A host name stands for its registrable domain. A text that is none matches no block.');

const Domain = boundedString(1, 253)
  .refine(isSiteHost, { error: 'Input should be a host name such as example.com', params: { type: 'host_name' } })
  .meta({ description: 'Host name of the site. It stands for its registrable domain.', examples: ['example.com'] });

/** Whether the text is a host name or an IP address, as the self-heal endpoints take it. */
export function isSiteHost(text: string): boolean {
  return /^[^\s/?#@\\%]+$/.test(text) && (URL.canParse(`http://${text}/`) || URL.canParse(`http://[${text}]/`));
}

/** Unix seconds in a query string, up to the year 9999. */
const EpochSeconds = z.preprocess(
  (value) => (typeof value === 'string' && /^-?\d{1,15}(\.\d{1,9})?(e\+?\d{1,2})?$/i.test(value) ? Number(value) : value),
  z.number().min(0).max(253_402_300_799),
);

const blockType = boundedString(0, 200).optional().describe('Only blocks of this type. None has an unknown type.');
const blockVendor = BlockVendor.optional().describe('Only blocks by this vendor.');

export const listBlocks = endpoint({
  id: 'listBlocks',
  method: 'GET',
  path: '/admin/blocks',
  tag: 'Self-heal',
  summary: 'List block events',
  description: 'Returns the blocks that fetches and navigations have met, newest first.',
  auth: 'admin',
  query: z.strictObject({
    owner: ownerFilter('blocks'),
    domain: domainFilter,
    type: blockType,
    vendor: blockVendor,
    since: EpochSeconds.optional().meta({ type: 'number', description: 'Only blocks from this time on, in Unix seconds.' }),
    limit: queryInt(1, 1000).default(100).describe('Maximum number of events per page, 1 to 1000. Default: 100.'),
    cursor: pageQuery.cursor,
  }),
  reply: z.array(BlockEvent),
  replyHeaders: pageHeaders,
  status: 200,
  errors: ['store_unavailable'],
});

export const listSiteHealth = endpoint({
  id: 'listSiteHealth',
  method: 'GET',
  path: '/admin/health',
  tag: 'Self-heal',
  summary: 'List site health',
  description:
    'Returns the health of each site for each owner, worst first. The first page fixes which sites are in a cooldown; one whose ' +
    'health changes meanwhile may be on two pages or on none.',
  auth: 'admin',
  query: z.strictObject({
    owner: ownerFilter('sites'),
    limit: queryInt(1, 1000).default(1000).describe('Maximum number of sites per page, 1 to 1000. Default: 1000.'),
    cursor: pageQuery.cursor,
  }),
  reply: z.array(SiteHealth),
  replyHeaders: pageHeaders,
  status: 200,
  errors: ['store_unavailable'],
});

export const getSiteHealth = endpoint({
  id: 'getSiteHealth',
  method: 'GET',
  path: '/admin/health/{domain}',
  tag: 'Self-heal',
  summary: 'Get site health',
  description: 'Returns the health of one site for an owner. The state is `unknown` for a site without attempts.',
  auth: 'admin',
  params: z.object({ domain: Domain.describe('Host name of the site. It stands for its registrable domain.') }),
  query: z.strictObject({ owner: Owner.describe('Id of the owner.') }),
  reply: SiteHealth,
  status: 200,
  errors: ['store_unavailable'],
});

export const getStrategies = endpoint({
  id: 'getStrategies',
  method: 'GET',
  path: '/admin/strategies',
  tag: 'Self-heal',
  summary: 'List strategies',
  description: 'Returns how well each strategy has worked for an owner on a site, and with which one the next task starts.',
  auth: 'admin',
  query: z.strictObject({ owner: Owner.describe('Id of the owner.'), domain: Domain }),
  reply: Strategies,
  status: 200,
  errors: ['store_unavailable'],
});

export const selfHealOverview = endpoint({
  id: 'selfHealOverview',
  method: 'GET',
  path: '/admin/selfheal/overview',
  tag: 'Self-heal',
  summary: 'Get the self-heal overview',
  description:
    'Returns the blocks of the last day and how many tasks succeeded in the end. The window covers the current ' +
    'hour and the 23 before it.',
  auth: 'admin',
  reply: SelfHealOverview,
  status: 200,
  errors: ['store_unavailable'],
});

export const blockSeriesMax = 10;
export const blockHistoryHoursMax = 720;
export const blockGroups = ['site', 'vendor', 'type', 'owner'] as const;
export type BlockGroup = (typeof blockGroups)[number];

const BlockSeries = z.object({
  name: z.string().describe('Site, vendor, type or owner.'),
  blocks: z.int().describe('Number of blocks in the whole time.'),
  resolved: z.int().describe('Of these, blocks after which a later attempt of the same task succeeded.'),
  counts: z.array(z.int()).describe('Number of blocks in each interval.'),
});

export const BlockHistory = z
  .object({
    object: z.literal('block_history').describe('Always `block_history`.'),
    by: z.enum(blockGroups).describe('What the blocks are grouped by.'),
    since: Timestamp.describe('Start of the first interval (RFC 3339, UTC).'),
    until: Timestamp.describe('Time of the figures (RFC 3339, UTC). The last interval ends after it.'),
    interval_seconds: z.int().describe('Length of an interval in seconds: an hour, six hours or a day. All begin at multiples of it.'),
    total: BlockSeries.omit({ name: true }).describe('All blocks.'),
    series: z.array(BlockSeries).describe(`The ${blockSeriesMax} groups with the most blocks, most first.`),
    other: BlockSeries.omit({ name: true }).describe('The blocks of all other groups.'),
  })
  .meta({ id: 'BlockHistoryResponse' });
export type BlockHistoryResponse = z.infer<typeof BlockHistory>;

export const blockHistory = endpoint({
  id: 'blockHistory',
  method: 'GET',
  path: '/admin/blocks/history',
  tag: 'Self-heal',
  summary: 'Get blocks over time',
  description:
    'Returns the number of blocks over time, grouped by site, vendor, type or owner. Intervals are an hour long for up to 48 hours, ' +
    'six hours for up to ten days, and else a day. Events older than 30 days are deleted.',
  auth: 'admin',
  query: z.strictObject({
    hours: queryInt(1, blockHistoryHoursMax)
      .default(24)
      .describe(`Length of the time in hours, 1 to ${blockHistoryHoursMax}; the current interval counts as a whole one. Default: 24.`),
    by: z.enum(blockGroups).default('vendor').describe('What to group by. Default: `vendor`.'),
    owner: ownerFilter('blocks'),
    domain: domainFilter,
    type: blockType,
    vendor: blockVendor,
  }),
  reply: BlockHistory,
  status: 200,
  errors: ['store_unavailable'],
});
