import { z } from 'zod';
import {
  blockHistory,
  getSiteHealth,
  getStrategies,
  isSiteHost,
  listBlocks,
  listSiteHealth,
  selfHealOverview,
  type BlockEventResponse,
  type BlockGroup,
  type BlockHistoryResponse,
  type SelfHealOverviewResponse,
  type SiteHealthResponse,
  type StrategiesResponse,
} from '@berth/contract';
import type { Routes } from '../../http/call.ts';
import { decodeCursor, pageHeaders } from '../../http/cursor.ts';
import {
  domainOfHost,
  type BlockEvent,
  type BlockHistory,
  type Overview,
  type SelfHeal,
  type SiteHealth,
  type SiteStrategies,
} from './selfheal.ts';

/** What flows healed and know, which a folder below counts. */
export type CountSkills = (since: Date) => Promise<{
  heals: Record<'verified' | 'unverified' | 'failed', number>;
  skills: { active: number; quarantined: number };
}>;

/** Times of cursors, in epoch ms: what a Date and the database can hold. */
const EpochMs = z.int().min(0).max(253_402_300_799_000);
const CursorText = z
  .string()
  .max(300)
  .regex(/^[^\0]*$/);
const EventCursor = z.tuple([EpochMs, CursorText]);
const SiteCursor = z.tuple([EpochMs, z.int().min(0).max(100), z.number().min(0).max(2), CursorText, CursorText]);

/** A text that is no host is the name of no site. */
const toSite = (host: string | undefined): string | undefined => (host !== undefined && isSiteHost(host) ? domainOfHost(host) : host);

export function mountSelfHealAdmin(routes: Routes, selfHeal: SelfHeal, countSkills: CountSkills): void {
  routes.on(listBlocks, async (call) => {
    const { owner, type, vendor, limit, cursor } = call.query;
    const domain = toSite(call.query.domain);
    const since = call.query.since === undefined ? undefined : new Date(Math.round(call.query.since * 1000));
    const after = cursor === undefined ? undefined : decodeCursor(cursor, EventCursor);
    const events = await selfHeal.blocks({ owner, domain, type, vendor, since, after, limit: limit + 1 });
    return pageHeaders(call, events, limit, ({ at, eventId }) => [at.getTime(), eventId]).map(toBlockEvent);
  });
  routes.on(blockHistory, async ({ query }) => {
    const domain = toSite(query.domain);
    return toHistory(await selfHeal.history({ ...query, domain }), query.by);
  });
  routes.on(listSiteHealth, async (call) => {
    const { owner, limit, cursor } = call.query;
    const after = cursor === undefined ? undefined : decodeCursor(cursor, SiteCursor);
    const sites = await selfHeal.health({ owner, after, limit: limit + 1 });
    return pageHeaders(call, sites, limit, ({ position }) => position).map(({ health }) => toSiteHealth(health));
  });
  routes.on(getSiteHealth, async ({ params, query }) => toSiteHealth(await selfHeal.healthOf(query.owner, domainOfHost(params.domain))));
  routes.on(getStrategies, async ({ query }) => toStrategies(await selfHeal.strategies(query.owner, domainOfHost(query.domain))));
  routes.on(selfHealOverview, async () => {
    const overview = await selfHeal.overview();
    return toOverview(overview, await countSkills(overview.since));
  });
}

const toIso = (at: Date | null): string | null => at?.toISOString() ?? null;

const toBlockEvent = (event: BlockEvent): BlockEventResponse => ({
  event_id: event.eventId,
  ts: event.at.getTime() / 1000,
  created_at: event.at.toISOString(),
  owner: event.owner,
  domain: event.domain,
  url: event.url,
  type: event.type,
  vendor: event.vendor,
  confidence: event.confidence,
  evidence: event.evidence,
  status_code: event.statusCode,
  job_id: event.jobId,
  session_id: event.sessionId,
  task: event.task,
  region: event.region,
  egress: { type: event.egress.type, country: event.egress.country, ip_hash: event.egress.ipHash },
  kind: event.kind,
  attempt: event.attempt,
  strategy: event.strategy,
  resolved: event.resolvedBy !== null,
  resolved_by: event.resolvedBy,
  duration_ms: event.durationMs,
});

const toSiteHealth = (health: SiteHealth): SiteHealthResponse => ({
  domain: health.domain,
  owner: health.owner,
  state: health.state,
  success_rate: health.successRate,
  window: {
    attempts: health.window.attempts,
    ok: health.window.ok,
    blocked: health.window.blocked,
    error: health.window.error,
    since: toIso(health.window.since),
  },
  consecutive_blocks: health.consecutiveBlocks,
  last_ok_at: toIso(health.lastOkAt),
  last_block_at: toIso(health.lastBlockAt),
  last_block_type: health.lastBlockType,
  vendor: health.vendor,
  best_strategy: health.bestStrategy,
  cooldown_until: toIso(health.cooldownUntil),
  avg_latency_ms: health.window.avgLatencyMs,
  updated_at: toIso(health.updatedAt),
});

const toStrategies = ({ owner, domain, strategies, current, nextProbeAt }: SiteStrategies): StrategiesResponse => ({
  owner,
  domain,
  strategies: strategies.map((record) => ({
    name: record.strategy,
    attempts: record.attempts,
    successes: record.successes,
    blocks: record.blocks,
    errors: record.errors,
    success_rate: record.successRate,
    score: record.score,
    avg_latency_ms: record.avgLatencyMs,
    avg_cost_credits: record.avgCostCredits,
    last_used_at: toIso(record.lastUsedAt),
    enabled: record.enabled,
  })),
  current,
  next_probe_at: toIso(nextProbeAt),
});

const toOverview = (overview: Overview, { heals, skills }: Awaited<ReturnType<CountSkills>>): SelfHealOverviewResponse => ({
  window_hours: overview.windowHours,
  totals: overview.totals,
  heal_rate: overview.healRate,
  by_type: overview.byType,
  by_vendor: overview.byVendor,
  by_strategy: overview.byStrategy,
  top_domains: overview.topDomains,
  cooldowns: overview.cooldowns,
  selector_heals: { verified: heals.verified, unverified: heals.unverified, failed: heals.failed },
  skills,
});

const toHistory = ({ since, until, intervalSeconds, total, series, other }: BlockHistory, by: BlockGroup): BlockHistoryResponse => ({
  object: 'block_history',
  by,
  since: since.toISOString(),
  until: until.toISOString(),
  interval_seconds: intervalSeconds,
  total,
  series,
  other,
});
