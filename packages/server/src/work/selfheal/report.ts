/** Reports for the operator, computed from the stored state. */
import { microPerCredit, type SiteState, type StrategyName } from '@berth/contract';
import { scoreOf } from './learn.ts';
import { isCooling, siteStateOf, windowOf, type StrategyStats, type Site, type SiteWindow } from './site.ts';

/** The current hour and the full ones before it. */
export const overviewHours = 24;

export interface SiteHealth extends Omit<Site, 'recent' | 'cooldowns'> {
  state: SiteState;
  successRate: number | null;
  window: SiteWindow;
}

export interface StrategyReport extends Pick<StrategyStats, 'strategy' | 'attempts' | 'successes' | 'blocks' | 'errors'> {
  successRate: number | null;
  score: number | null;
  avgLatencyMs: number | null;
  avgCostCredits: number | null;
  lastUsedAt: Date | null;
  enabled: boolean;
}

export interface SiteStrategies {
  owner: string;
  domain: string;
  /** All strategies, gentlest first. */
  strategies: StrategyReport[];
  current: StrategyName;
  nextProbeAt: Date | null;
}

export interface Overview {
  windowHours: number;
  since: Date;
  totals: { attempts: number; ok: number; blocked: number; error: number; healed: number; unresolved: number };
  healRate: number | null;
  byType: Record<string, number>;
  byVendor: Record<string, number>;
  byStrategy: Record<string, number>;
  topDomains: { owner: string; domain: string; blocks: number; state: SiteState }[];
  cooldowns: number;
}

export const stateAt = (site: Pick<Site, 'cooldownUntil' | 'recent'>, now: Date): SiteState =>
  isCooling(site, now) ? 'cooldown' : siteStateOf(windowOf(site.recent));

export function toSiteHealth(site: Site, now: Date): SiteHealth {
  const { recent, cooldowns: _, ...summary } = site;
  const window = windowOf(recent);
  return {
    ...summary,
    state: stateAt(site, now),
    successRate: ratio(window.ok, window.attempts),
    window,
    cooldownUntil: isCooling(site, now) ? site.cooldownUntil : null,
  };
}

export function toStrategyReport(strategy: StrategyName, stats: StrategyStats | undefined, enabled: boolean): StrategyReport {
  if (!stats)
    return {
      strategy,
      attempts: 0,
      successes: 0,
      blocks: 0,
      errors: 0,
      successRate: null,
      score: null,
      avgLatencyMs: null,
      avgCostCredits: null,
      lastUsedAt: null,
      enabled,
    };
  const { attempts, successes, blocks, errors, durationMs, costMicro, recent, lastUsedAt } = stats;
  return {
    strategy,
    attempts,
    successes,
    blocks,
    errors,
    successRate: ratio(successes, attempts),
    score: scoreOf(recent).lower,
    avgLatencyMs: Math.round(durationMs / attempts),
    avgCostCredits: Math.round(costMicro / attempts) / microPerCredit,
    lastUsedAt,
    enabled,
  };
}

const ratio = (part: number, whole: number): number | null => (whole > 0 ? part / whole : null);

/** Sums by counter name. */
export function toTotals(sums: ReadonlyMap<string, number>): Pick<Overview, 'totals' | 'healRate' | 'byType' | 'byVendor' | 'byStrategy'> {
  const under = (prefix: string): Record<string, number> =>
    Object.fromEntries([...sums].filter(([name]) => name.startsWith(prefix)).map(([name, sum]) => [name.slice(prefix.length), sum]));
  const sum = (name: string): number => sums.get(name) ?? 0;
  const [ok, blocked, error, unresolved] = [sum('ok'), sum('blocked'), sum('error'), sum('unresolved')];
  const byStrategy = under('healed:');
  const healed = Object.values(byStrategy).reduce((total, count) => total + count, 0);
  return {
    totals: { attempts: ok + blocked + error, ok, blocked, error, healed, unresolved },
    healRate: ratio(healed, healed + unresolved),
    byType: under('type:'),
    byVendor: under('vendor:'),
    byStrategy,
  };
}
