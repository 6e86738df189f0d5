import { createHmac } from 'node:crypto';
import type { Block, BlockEvidence, BlockType, BlockVendor, Confidence, StrategyName } from '@berth/contract';
import { cutText } from '@berth/lib/text/text.ts';
import { newId } from '@berth/lib/ids.ts';
import { pageOf } from '@berth/lib/text/domains.ts';

export type Outcome = 'ok' | 'blocked' | 'error';

/** One attempt to load a page. The caller decides the outcome; the site's own answer is `ok`, even a 404. */
export interface SiteAttempt {
  owner: string;
  /** The result of `domainOf`. */
  domain: string;
  url: string;
  /** `fetch`, `navigate`, or the name of a flow. */
  task: string;
  jobId: string | null;
  sessionId: string | null;
  region: string;
  /** Only a keyed hash of `ip` is stored. */
  egress: { type: string; country: string | null; ip: string | null };
  kind: string;
  /** The number of the attempt in its work, from 1. */
  n: number;
  strategy: StrategyName;
  startedAt: Date;
  durationMs: number;
  /** What it cost, in credits. */
  credits: number;
  outcome: Outcome;
  /** The contract's reason of a failed navigation. */
  reason: string | null;
  block: Block | null;
  statusCode: number | null;
}

export interface BlockEvent {
  eventId: string;
  /** The end of the blocked attempt. */
  at: Date;
  owner: string;
  domain: string;
  url: string;
  type: BlockType;
  vendor: BlockVendor;
  confidence: Confidence;
  evidence: BlockEvidence[];
  statusCode: number | null;
  jobId: string | null;
  sessionId: string | null;
  task: string;
  region: string;
  egress: { type: string; country: string | null; ipHash: string | null };
  kind: string;
  attempt: number;
  strategy: StrategyName;
  /** The strategy of a later successful attempt of the same work. */
  resolvedBy: StrategyName | null;
  durationMs: number;
}

/** What is stored of one work. */
export interface JournalEntry {
  attempts: SiteAttempt[];
  events: BlockEvent[];
  /** The strategy that succeeded after a block; `none` when none did; null without a block. */
  healed: StrategyName | 'none' | null;
}

export const endOf = ({ startedAt, durationMs }: Pick<SiteAttempt, 'startedAt' | 'durationMs'>): Date =>
  new Date(startedAt.getTime() + durationMs);

/** Refused by this service: the site was not asked, so nothing is learned about it. */
const isOwnRefusal = ({ block, reason }: SiteAttempt): boolean => block?.type === 'cooldown' || reason === 'blocked_by_policy';

/** null without a real attempt. */
export function toJournalEntry(attempts: readonly SiteAttempt[], secret: Buffer): JournalEntry | null {
  const recorded = attempts.filter((attempt) => attempt.domain !== '' && !isOwnRefusal(attempt)).map(withWholeMs);
  if (recorded.length === 0) return null;
  const events = recorded.flatMap((attempt, index) => {
    if (attempt.outcome !== 'blocked') return [];
    const success = recorded.slice(index + 1).find(({ outcome }) => outcome === 'ok');
    return [toEvent(attempt, success?.strategy ?? null, secret)];
  });
  const last = events.at(-1);
  return { attempts: recorded, events, healed: last ? (last.resolvedBy ?? 'none') : null };
}

/** The database stores durations as integers. */
const withWholeMs = (attempt: SiteAttempt): SiteAttempt => ({
  ...attempt,
  durationMs: Number.isFinite(attempt.durationMs) ? Math.min(Math.max(0, Math.round(attempt.durationMs)), 2 ** 31 - 1) : 0,
});

const evidenceMax = 20;
const textMax = 512;

function toEvent(attempt: SiteAttempt, resolvedBy: StrategyName | null, secret: Buffer): BlockEvent {
  const { block, egress } = attempt;
  return {
    eventId: newId('evt'),
    at: endOf(attempt),
    owner: attempt.owner,
    domain: attempt.domain,
    url: pageOf(attempt.url),
    type: block?.type ?? 'unknown',
    vendor: block?.vendor ?? 'unknown',
    confidence: block?.confidence ?? 'low',
    evidence: (block?.evidence ?? []).slice(0, evidenceMax).map(({ kind, id, value_redacted }) => ({
      kind,
      id: cutText(id, textMax),
      value_redacted: cutText(value_redacted, textMax),
    })),
    statusCode: attempt.statusCode,
    jobId: attempt.jobId,
    sessionId: attempt.sessionId,
    task: attempt.task,
    region: attempt.region,
    egress: { type: egress.type, country: egress.country, ipHash: egress.ip === null ? null : hashIp(egress.ip, secret) },
    kind: attempt.kind,
    attempt: attempt.n,
    strategy: attempt.strategy,
    resolvedBy,
    durationMs: attempt.durationMs,
  };
}

/** Keyed, because hashing all IPv4 addresses is fast. 64 bits distinguish a few thousand. */
const hashIp = (ip: string, secret: Buffer): string => createHmac('sha256', secret).update(`egress ip ${ip}`).digest('hex').slice(0, 16);
