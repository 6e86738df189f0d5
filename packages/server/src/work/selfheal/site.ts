/**
 * The state of one owner's attempts on one site, and how an attempt changes it.
 *
 * Three consecutive blocks of high confidence start a cooldown of two minutes,
 * which doubles with each further one. Only an attempt that began after a
 * cooldown can start the next one, so that concurrent fetches count once.
 */
import { microPerCredit, type BlockType, type BlockVendor, type SiteState, type StrategyName } from '@berth/contract';
import { endOf, type SiteAttempt, type Outcome } from './attempt.ts';

/** How many of the last attempts count. */
const windowSize = 50;
/** Fewer attempts are not significant. */
export const attemptsToKnow = 5;
const blocksToCool = 3;
const cooldownMsMax = 6 * 3_600_000;

/** The last attempts, oldest first: start in epoch ms, outcome, duration in ms. */
export type Recent = [startedMs: number, outcome: Outcome, durationMs: number][];

export interface Site {
  owner: string;
  domain: string;
  recent: Recent;
  consecutiveBlocks: number;
  /** Cooldowns in a row. */
  cooldowns: number;
  cooldownUntil: Date | null;
  lastOkAt: Date | null;
  lastBlockAt: Date | null;
  lastBlockType: BlockType | null;
  vendor: BlockVendor | null;
  bestStrategy: StrategyName | null;
  updatedAt: Date | null;
}

/** One strategy on one site. The sums cover all attempts, not only the recent ones. */
export interface StrategyStats {
  owner: string;
  domain: string;
  strategy: StrategyName;
  attempts: number;
  successes: number;
  blocks: number;
  errors: number;
  durationMs: number;
  /** Cost in millionths of a credit. */
  costMicro: number;
  recent: Recent;
  lastUsedAt: Date;
}

/** A site without attempts. */
export const newSite = (owner: string, domain: string): Site => ({
  owner,
  domain,
  recent: [],
  consecutiveBlocks: 0,
  cooldowns: 0,
  cooldownUntil: null,
  lastOkAt: null,
  lastBlockAt: null,
  lastBlockType: null,
  vendor: null,
  bestStrategy: null,
  updatedAt: null,
});

/** Blocks that concern one page and not the visitor; they start no cooldown. */
const aboutThePage = new Set<BlockType>(['login_wall', 'consent_wall']);

export function updateSite(site: Site, attempt: SiteAttempt): Site {
  const at = endOf(attempt);
  const next = { ...site, recent: withAttempt(site.recent, attempt), updatedAt: later(site.updatedAt, at) };
  if (attempt.outcome === 'ok') return afterSuccess(next, at);
  return attempt.outcome === 'blocked' ? afterBlock(next, attempt, at) : next;
}

/** An older success of another worker does not clear a newer block. */
function afterSuccess(site: Site, at: Date): Site {
  const next = { ...site, lastOkAt: later(site.lastOkAt, at) };
  return site.lastBlockAt && at < site.lastBlockAt ? next : { ...next, consecutiveBlocks: 0, cooldowns: 0, cooldownUntil: null };
}

function afterBlock(site: Site, { block, startedAt }: SiteAttempt, at: Date): Site {
  const type = block?.type ?? 'unknown';
  const next = { ...site, lastBlockAt: later(site.lastBlockAt, at), lastBlockType: type, vendor: block?.vendor ?? 'unknown' };
  if (block?.confidence !== 'high' || aboutThePage.has(type) || (site.lastOkAt && at < site.lastOkAt)) return next;
  const consecutiveBlocks = site.consecutiveBlocks + 1;
  if (consecutiveBlocks < blocksToCool || (site.cooldownUntil && startedAt < site.cooldownUntil)) return { ...next, consecutiveBlocks };
  const cooldowns = site.cooldowns + 1;
  const cooldownMs = Math.min(2 ** cooldowns * 60_000, cooldownMsMax);
  return { ...next, consecutiveBlocks, cooldowns, cooldownUntil: new Date(at.getTime() + cooldownMs) };
}

export function updateStrategyStats(stats: StrategyStats | undefined, attempt: SiteAttempt): StrategyStats {
  const { owner, domain, strategy, outcome, durationMs, credits } = attempt;
  return {
    owner,
    domain,
    strategy,
    attempts: (stats?.attempts ?? 0) + 1,
    successes: (stats?.successes ?? 0) + Number(outcome === 'ok'),
    blocks: (stats?.blocks ?? 0) + Number(outcome === 'blocked'),
    errors: (stats?.errors ?? 0) + Number(outcome === 'error'),
    durationMs: (stats?.durationMs ?? 0) + durationMs,
    costMicro: (stats?.costMicro ?? 0) + Math.round(credits * microPerCredit),
    recent: withAttempt(stats?.recent ?? [], attempt),
    lastUsedAt: later(stats?.lastUsedAt ?? null, endOf(attempt)),
  };
}

/** Sorted by the start of the attempts, across workers. */
function withAttempt(recent: Recent, { startedAt, outcome, durationMs }: SiteAttempt): Recent {
  return [...recent, [startedAt.getTime(), outcome, durationMs] satisfies Recent[number]]
    .sort(([one], [other]) => one - other)
    .slice(-windowSize);
}

const later = (one: Date | null, other: Date): Date => (one && one > other ? one : other);

export interface SiteWindow {
  attempts: number;
  ok: number;
  blocked: number;
  error: number;
  since: Date | null;
  avgLatencyMs: number | null;
}

export function windowOf(recent: Recent): SiteWindow {
  const count = (wanted: Outcome): number => recent.filter(([, outcome]) => outcome === wanted).length;
  const durations = recent.reduce((sum, [, , durationMs]) => sum + durationMs, 0);
  return {
    attempts: recent.length,
    ok: count('ok'),
    blocked: count('blocked'),
    error: count('error'),
    since: recent[0] ? new Date(recent[0][0]) : null,
    avgLatencyMs: recent.length > 0 ? Math.round(durations / recent.length) : null,
  };
}

/** The state of a site without a cooldown. */
export function siteStateOf({ ok, attempts }: Pick<SiteWindow, 'ok' | 'attempts'>): Exclude<SiteState, 'cooldown'> {
  if (attempts < attemptsToKnow) return 'unknown';
  if (ok / attempts >= 0.9) return 'healthy';
  return ok / attempts >= 0.5 ? 'degraded' : 'blocked';
}

export const isCooling = (site: Pick<Site, 'cooldownUntil'>, now: Date): boolean => site.cooldownUntil !== null && site.cooldownUntil > now;
