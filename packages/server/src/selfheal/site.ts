/**
 * What is known of one owner's luck with one site, and how an attempt changes it.
 *
 * A site that refuses three times in a row, for certain, is left alone: for two
 * minutes, and twice as long each time it goes on refusing. Only an attempt
 * that began after a cooldown can start the next one, so that fetches that were
 * under way together count as one refusal.
 */
import type { BlockType, BlockVendor, SiteState, StrategyName } from '@berth/contract';
import { endOf, type Attempt, type Outcome } from './attempt.ts';

/** How many of the last attempts count. */
export const windowSize = 50;
/** Fewer attempts than this say nothing. */
export const attemptsToKnow = 5;
const blocksToCool = 3;
const cooldownMsMax = 6 * 3_600_000;

/** Of the last attempts, oldest first: start in epoch ms, outcome, duration in ms. */
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

/** What is known of one rung on one site. The sums are of all attempts, not of the recent ones. */
export interface Rung {
  owner: string;
  domain: string;
  strategy: StrategyName;
  attempts: number;
  successes: number;
  blocks: number;
  errors: number;
  durationMs: number;
  recent: Recent;
  lastUsedAt: Date;
}

/** A site of which nothing is known. */
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

/** Blocks that are about one page and not about the visitor: they are told, and never a reason to leave the whole site alone. */
const aboutThePage = new Set<BlockType>(['login_wall', 'consent_wall']);

export function siteAfter(site: Site, attempt: Attempt): Site {
  const at = endOf(attempt);
  const seen = { ...site, recent: withAttempt(site.recent, attempt), updatedAt: later(site.updatedAt, at) };
  if (attempt.outcome === 'ok') return afterSuccess(seen, at);
  return attempt.outcome === 'blocked' ? afterBlock(seen, attempt, at) : seen;
}

/** Another worker's older success says nothing against a newer block. */
function afterSuccess(site: Site, at: Date): Site {
  const seen = { ...site, lastOkAt: later(site.lastOkAt, at) };
  return site.lastBlockAt && at < site.lastBlockAt ? seen : { ...seen, consecutiveBlocks: 0, cooldowns: 0, cooldownUntil: null };
}

function afterBlock(site: Site, { block, startedAt }: Attempt, at: Date): Site {
  const type = block?.type ?? 'unknown';
  const seen = { ...site, lastBlockAt: later(site.lastBlockAt, at), lastBlockType: type, vendor: block?.vendor ?? 'unknown' };
  if (block?.confidence !== 'high' || aboutThePage.has(type) || (site.lastOkAt && at < site.lastOkAt)) return seen;
  const consecutiveBlocks = site.consecutiveBlocks + 1;
  if (consecutiveBlocks < blocksToCool || (site.cooldownUntil && startedAt < site.cooldownUntil)) return { ...seen, consecutiveBlocks };
  const cooldowns = site.cooldowns + 1;
  const cooldownMs = Math.min(2 ** cooldowns * 60_000, cooldownMsMax);
  return { ...seen, consecutiveBlocks, cooldowns, cooldownUntil: new Date(at.getTime() + cooldownMs) };
}

export function rungAfter(rung: Rung | undefined, attempt: Attempt): Rung {
  const { owner, domain, strategy, outcome, durationMs } = attempt;
  return {
    owner,
    domain,
    strategy,
    attempts: (rung?.attempts ?? 0) + 1,
    successes: (rung?.successes ?? 0) + Number(outcome === 'ok'),
    blocks: (rung?.blocks ?? 0) + Number(outcome === 'blocked'),
    errors: (rung?.errors ?? 0) + Number(outcome === 'error'),
    durationMs: (rung?.durationMs ?? 0) + durationMs,
    recent: withAttempt(rung?.recent ?? [], attempt),
    lastUsedAt: later(rung?.lastUsedAt ?? null, endOf(attempt)),
  };
}

/** In the order in which attempts began, whichever worker made them. */
function withAttempt(recent: Recent, { startedAt, outcome, durationMs }: Attempt): Recent {
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

/** What a site is when it is in no cooldown. */
export function standingOf({ ok, attempts }: Pick<SiteWindow, 'ok' | 'attempts'>): Exclude<SiteState, 'cooldown'> {
  if (attempts < attemptsToKnow) return 'unknown';
  if (ok / attempts >= 0.9) return 'healthy';
  return ok / attempts >= 0.5 ? 'degraded' : 'blocked';
}

export const isCooling = (site: Pick<Site, 'cooldownUntil'>, now: Date): boolean => site.cooldownUntil !== null && site.cooldownUntil > now;
