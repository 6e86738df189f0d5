/** What the operator is told, made of what is kept. */
import type { SiteState, StrategyName } from '@berth/contract';
import { scoreOf } from './learn.ts';
import { isCooling, standingOf, windowOf, type Rung, type Site, type SiteWindow } from './site.ts';

/** The current hour, and whole ones before it. */
export const overviewHours = 24;

export interface SiteHealth extends Omit<Site, 'recent' | 'cooldowns'> {
  state: SiteState;
  successRate: number | null;
  window: SiteWindow;
}

export interface StrategyRecord extends Pick<Rung, 'strategy' | 'attempts' | 'successes' | 'blocks' | 'errors'> {
  successRate: number | null;
  score: number | null;
  avgLatencyMs: number | null;
  lastUsedAt: Date | null;
  enabled: boolean;
}

export interface SiteStrategies {
  owner: string;
  domain: string;
  /** All there are, gentlest first. */
  strategies: StrategyRecord[];
  current: StrategyName;
  nextProbeAt: Date | null;
}

export interface Overview {
  windowHours: number;
  totals: { attempts: number; ok: number; blocked: number; error: number; healed: number; unresolved: number };
  healRate: number | null;
  byType: Record<string, number>;
  byVendor: Record<string, number>;
  byStrategy: Record<string, number>;
  topDomains: { owner: string; domain: string; blocks: number; state: SiteState }[];
  cooldowns: number;
}

export const stateAt = (site: Pick<Site, 'cooldownUntil' | 'recent'>, now: Date): SiteState =>
  isCooling(site, now) ? 'cooldown' : standingOf(windowOf(site.recent));

export function healthAt(site: Site, now: Date): SiteHealth {
  const { recent, cooldowns: _, ...told } = site;
  const window = windowOf(recent);
  return {
    ...told,
    state: stateAt(site, now),
    successRate: ratio(window.ok, window.attempts),
    window,
    cooldownUntil: isCooling(site, now) ? site.cooldownUntil : null,
  };
}

export function recordOf(strategy: StrategyName, rung: Rung | undefined, enabled: boolean): StrategyRecord {
  if (!rung)
    return {
      strategy,
      attempts: 0,
      successes: 0,
      blocks: 0,
      errors: 0,
      successRate: null,
      score: null,
      avgLatencyMs: null,
      lastUsedAt: null,
      enabled,
    };
  const { attempts, successes, blocks, errors, durationMs, recent, lastUsedAt } = rung;
  const avgLatencyMs = Math.round(durationMs / attempts);
  return {
    strategy,
    attempts,
    successes,
    blocks,
    errors,
    successRate: ratio(successes, attempts),
    score: scoreOf(recent).least,
    avgLatencyMs,
    lastUsedAt,
    enabled,
  };
}

const ratio = (part: number, whole: number): number | null => (whole > 0 ? part / whole : null);

/** Of counts by their names. */
export function totalsOf(sums: ReadonlyMap<string, number>): Pick<Overview, 'totals' | 'healRate' | 'byType' | 'byVendor' | 'byStrategy'> {
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
