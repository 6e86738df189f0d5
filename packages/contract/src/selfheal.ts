/** What the service has learned about sites, for the operator: blocks, health, what works. */
import { z } from 'zod';
import { BlockEvidence, blockTypes, blockVendors, confidences } from './block.ts';
import { endpoint } from './endpoint.ts';
import { Timestamp, queryInt } from './fields.ts';
import { OwnerId } from './keys.ts';

/** The rungs of the ladder, gentlest first. */
export const strategyNames = [
  'direct',
  'wait_retry',
  'slower_pacing',
  'other_egress',
  'fresh_context',
  'captcha_provider',
  'human',
] as const;
export type StrategyName = (typeof strategyNames)[number];

export const siteStates = ['healthy', 'degraded', 'blocked', 'cooldown', 'unknown'] as const;
export type SiteState = (typeof siteStates)[number];

export const BlockEvent = z
  .object({
    event_id: z.string(),
    ts: z.number().meta({ description: 'Epoch seconds, when the block was met: what `since` compares.' }),
    created_at: Timestamp.meta({ description: 'The same time in words.' }),
    owner: z.string(),
    domain: z.string().meta({ description: 'The registrable domain; the host where there is none, such as an IP address.' }),
    url: z.string().meta({ description: 'Without its credentials, query and fragment.' }),
    type: z.enum(blockTypes),
    vendor: z.enum(blockVendors),
    confidence: z.enum(confidences),
    evidence: z.array(BlockEvidence),
    status_code: z.int().nullable(),
    job_id: z.string().nullable(),
    session_id: z.string().nullable(),
    task: z.string().meta({ description: 'What was being done: `fetch` or `navigate`.' }),
    region: z.string(),
    egress: z.object({
      type: z.string(),
      country: z.string().nullable(),
      ip_hash: z
        .string()
        .nullable()
        .meta({ description: 'The same address gives the same hash on this installation; the address itself is not kept.' }),
    }),
    kind: z.string(),
    attempt: z.int().meta({ description: 'Which attempt of its work, from 1.' }),
    strategy: z.enum(strategyNames),
    resolved: z.boolean().meta({ description: 'Whether a later attempt of the same work got through.' }),
    resolved_by: z.enum(strategyNames).nullable().meta({ description: 'The rung that got through.' }),
    duration_ms: z.int(),
  })
  .meta({ id: 'BlockEvent' });
export type BlockEventResponse = z.infer<typeof BlockEvent>;

export const SiteHealth = z
  .object({
    domain: z.string(),
    owner: z.string(),
    state: z.enum(siteStates),
    success_rate: z.number().nullable().meta({ description: 'Of the window; null without an attempt.' }),
    window: z
      .object({ attempts: z.int(), ok: z.int(), blocked: z.int(), error: z.int(), since: Timestamp.nullable() })
      .meta({ description: 'The last 50 attempts, and when the first of them began.' }),
    consecutive_blocks: z.int().meta({ description: 'Blocks of high confidence since the last success; three start a cooldown.' }),
    last_ok_at: Timestamp.nullable(),
    last_block_at: Timestamp.nullable(),
    last_block_type: z.enum(blockTypes).nullable(),
    vendor: z.enum(blockVendors).nullable().meta({ description: 'Of the last block.' }),
    best_strategy: z.enum(strategyNames).nullable().meta({ description: 'The rung with the best score so far.' }),
    cooldown_until: Timestamp.nullable().meta({ description: 'Null where none is on.' }),
    avg_latency_ms: z.int().nullable().meta({ description: 'Of the window.' }),
    updated_at: Timestamp.nullable().meta({ description: 'When the last attempt was over.' }),
  })
  .meta({ id: 'SiteHealth' });
export type SiteHealthResponse = z.infer<typeof SiteHealth>;

export const Strategies = z
  .object({
    owner: z.string(),
    domain: z.string(),
    strategies: z.array(
      // Every rung is listed, gentlest first, tried or not.
      z.object({
        name: z.enum(strategyNames),
        attempts: z.int(),
        successes: z.int(),
        blocks: z.int(),
        errors: z.int(),
        success_rate: z.number().nullable().meta({ description: 'Of all attempts that are remembered; null without one.' }),
        score: z.number().nullable().meta({ description: 'Lower bound of the Wilson interval (95 %) over the last 50 attempts.' }),
        avg_latency_ms: z.int().nullable(),
        last_used_at: Timestamp.nullable(),
        enabled: z.boolean().meta({ description: 'Whether this service may use it: some need a proxy list or a provider.' }),
      }),
    ),
    current: z.enum(strategyNames).meta({ description: 'What the next work on this site begins with.' }),
    next_probe_at: Timestamp.nullable().meta({ description: 'When a cooldown ends and the site is tried again.' }),
  })
  .meta({ id: 'Strategies' });
export type StrategiesResponse = z.infer<typeof Strategies>;

const counted = z.record(z.string(), z.int());

export const SelfHealOverview = z
  .object({
    window_hours: z.int(),
    totals: z
      .object({ attempts: z.int(), ok: z.int(), blocked: z.int(), error: z.int(), healed: z.int(), unresolved: z.int() })
      .meta({ description: 'Attempts by outcome; `healed` and `unresolved` count work that met a block.' }),
    heal_rate: z.number().nullable().meta({ description: 'Of the work that met a block, the part that got through in the end.' }),
    by_type: counted.meta({ description: 'Blocks by their type.' }),
    by_vendor: counted.meta({ description: 'Blocks by who made them.' }),
    by_strategy: counted.meta({ description: 'Healed work by the rung that got through.' }),
    top_domains: z
      .array(z.object({ owner: z.string(), domain: z.string(), blocks: z.int(), state: z.enum(siteStates) }))
      .meta({ description: 'Where most blocks were met, ten at most.' }),
    cooldowns: z.int().meta({ description: 'Sites that are left alone right now.' }),
  })
  .meta({ id: 'SelfHealOverview' });
export type SelfHealOverviewResponse = z.infer<typeof SelfHealOverview>;

const Domain = z
  .string()
  .min(1)
  .max(253)
  .refine(isHost, { error: 'Input should be a host name such as example.com', params: { type: 'host_name' } })
  .meta({ description: 'A host stands for its registrable domain.', examples: ['example.com'] });

function isHost(text: string): boolean {
  return /^[^\s/?#@\\%]+$/.test(text) && (URL.canParse(`http://${text}/`) || URL.canParse(`http://[${text}]/`));
}

/** Epoch seconds as text; a number that no clock shows is a fault. */
const EpochSeconds = z.preprocess(
  (value) => (typeof value === 'string' && /^-?\d{1,15}(\.\d{1,9})?$/.test(value) ? Number(value) : value),
  z.number().min(0).max(253_402_300_799),
);

export const listBlocks = endpoint({
  id: 'listBlocks',
  method: 'GET',
  path: '/admin/blocks',
  tag: 'Self-heal',
  summary: 'Blocks met by fetches and navigations, newest first',
  auth: 'admin',
  query: z.strictObject({
    owner: OwnerId.optional(),
    domain: Domain.optional(),
    type: z.enum(blockTypes).optional(),
    since: EpochSeconds.optional().meta({ type: 'number', description: 'Epoch seconds: blocks met then or later.' }),
    limit: queryInt(1, 1000).default(100),
  }),
  reply: z.array(BlockEvent),
  status: 200,
  errors: ['store_unavailable'],
});

export const listSiteHealth = endpoint({
  id: 'listSiteHealth',
  method: 'GET',
  path: '/admin/health',
  tag: 'Self-heal',
  summary: 'How each owner fares with each site, worst first',
  description: 'The thousand worst at most.',
  auth: 'admin',
  query: z.strictObject({ owner: OwnerId.optional() }),
  reply: z.array(SiteHealth),
  status: 200,
  errors: ['store_unavailable'],
});

export const getSiteHealth = endpoint({
  id: 'getSiteHealth',
  method: 'GET',
  path: '/admin/health/{domain}',
  tag: 'Self-heal',
  summary: 'How an owner fares with one site',
  description: 'A site of which nothing is known yet is `unknown`.',
  auth: 'admin',
  params: z.object({ domain: Domain }),
  query: z.strictObject({ owner: OwnerId }),
  reply: SiteHealth,
  status: 200,
  errors: ['store_unavailable'],
});

export const getStrategies = endpoint({
  id: 'getStrategies',
  method: 'GET',
  path: '/admin/strategies',
  tag: 'Self-heal',
  summary: 'What has worked for an owner on a site',
  auth: 'admin',
  query: z.strictObject({ owner: OwnerId, domain: Domain }),
  reply: Strategies,
  status: 200,
  errors: ['store_unavailable'],
});

export const selfHealOverview = endpoint({
  id: 'selfHealOverview',
  method: 'GET',
  path: '/admin/selfheal/overview',
  tag: 'Self-heal',
  summary: 'Blocks and healing of the last day',
  description: 'By whole hours: the current one and the 23 before it.',
  auth: 'admin',
  reply: SelfHealOverview,
  status: 200,
  errors: ['store_unavailable'],
});
