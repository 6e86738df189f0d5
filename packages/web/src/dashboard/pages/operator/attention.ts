/** What in the overview needs an operator, each with the page that has more. */
import type { OverviewResponse } from '@berth/contract';
import { filtered } from './parts.tsx';
import { hrefOf } from '../../href.ts';

export interface Attention {
  tone: 'warn' | 'bad';
  text: string;
  href: string;
}

/** Worst first. */
export function attentionOf(overview: OverviewResponse): Attention[] {
  return [...host(overview), ...workers(overview), ...loops(overview), ...pool(overview), ...credits(overview), ...blocks(overview)];
}

function host({ host: { admitting, disk } }: OverviewResponse): Attention[] {
  const href = hrefOf('/operator/pool');
  return [
    ...(disk === 'full' ? [{ tone: 'bad' as const, text: 'The disk is full: only the database can still write.', href }] : []),
    ...(disk === 'low' ? [{ tone: 'warn' as const, text: 'The disk is below its floor: new sessions and jobs are refused.', href }] : []),
    ...(admitting ? [] : [{ tone: 'bad' as const, text: 'The host is short of memory or CPU: no machine starts.', href }]),
  ];
}

function workers({ workers }: OverviewResponse): Attention[] {
  const silent = workers.filter(({ alive }) => !alive);
  if (silent.length === 0) return [];
  const text = `${silent.length === 1 ? 'A worker has' : `${silent.length} workers have`} stopped reporting.`;
  return [{ tone: 'bad', text, href: hrefOf('/operator/workers') }];
}

function loops({ loops }: OverviewResponse): Attention[] {
  const failing = loops.filter(({ failures }) => failures > 0).map(({ name }) => name);
  if (failing.length === 0) return [];
  return [{ tone: 'warn', text: `Failing loops: ${failing.join(', ')}.`, href: hrefOf('/operator/workers') }];
}

function pool({ pool: { targets, counts } }: OverviewResponse): Attention[] {
  const wanted = targets.headless + targets.full_browser;
  if (counts.ready >= wanted) return [];
  const text = `The pool is short: ${counts.ready} of ${wanted} warm machines are ready, ${counts.warming} starting.`;
  return [{ tone: 'warn', text, href: hrefOf('/operator/pool') }];
}

function credits({ denials }: OverviewResponse): Attention[] {
  const { insufficient_credits: refused = 0 } = denials;
  if (refused === 0) return [];
  const text = `${refused} ${refused === 1 ? 'call was' : 'calls were'} refused for empty wallets since the worker started.`;
  return [{ tone: 'warn', text, href: hrefOf('/operator/owners') }];
}

function blocks({ blocks_24h: count }: OverviewResponse): Attention[] {
  if (count === 0) return [];
  const text = `Sites blocked ${count} ${count === 1 ? 'attempt' : 'attempts'} in the last 24 hours.`;
  return [{ tone: 'warn', text, href: filtered('/operator/blocks', { by: 'site' }) }];
}
