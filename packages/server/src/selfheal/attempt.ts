import { createHmac } from 'node:crypto';
import type { Block, BlockEvidence, BlockType, BlockVendor, Confidence, StrategyName } from '@berth/contract';
import { newId } from '../lib/ids.ts';
import { keptUrl } from './domains.ts';

export type Outcome = 'ok' | 'blocked' | 'error';

/** One try to get a page. A page that is the site's own answer is `ok`, also where it is a 404: the caller decides. */
export interface Attempt {
  owner: string;
  /** What `domainOf` says of the address. */
  domain: string;
  url: string;
  task: 'fetch' | 'navigate';
  jobId: string | null;
  sessionId: string | null;
  region: string;
  /** Of `ip` only a keyed hash is kept. */
  egress: { type: string; country: string | null; ip: string | null };
  kind: string;
  /** Which attempt of its work, from 1. */
  n: number;
  strategy: StrategyName;
  startedAt: Date;
  durationMs: number;
  outcome: Outcome;
  block: Block | null;
  statusCode: number | null;
}

export interface BlockEvent {
  eventId: string;
  /** When the block was met: the end of its attempt. */
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
  /** The rung of a later attempt of the same work that got through. */
  resolvedBy: StrategyName | null;
  durationMs: number;
}

/** What is written of one work. */
export interface Noted {
  attempts: Attempt[];
  events: BlockEvent[];
  /** The rung that got through after a block; `none` where none did; null where no block was met. */
  healed: StrategyName | 'none' | null;
}

export const endOf = ({ startedAt, durationMs }: Pick<Attempt, 'startedAt' | 'durationMs'>): Date =>
  new Date(startedAt.getTime() + durationMs);

/** Null where nothing was tried: the answer of a cooldown says nothing new about the site. */
export function noteOf(attempts: readonly Attempt[], secret: Buffer): Noted | null {
  const real = attempts.filter((attempt) => attempt.domain !== '' && attempt.block?.type !== 'cooldown').map(whole);
  if (real.length === 0) return null;
  const events = real.flatMap((attempt, place) => {
    if (attempt.outcome !== 'blocked') return [];
    const through = real.slice(place + 1).find(({ outcome }) => outcome === 'ok');
    return [toEvent(attempt, through?.strategy ?? null, secret)];
  });
  const last = events.at(-1);
  return { attempts: real, events, healed: last ? (last.resolvedBy ?? 'none') : null };
}

/** The database takes whole milliseconds only. */
const whole = (attempt: Attempt): Attempt => ({
  ...attempt,
  durationMs: Number.isFinite(attempt.durationMs) ? Math.min(Math.max(0, Math.round(attempt.durationMs)), 2 ** 31 - 1) : 0,
});

const evidenceMax = 20;
const textMax = 512;

/** The database's text holds no NUL, and its JSON no half of a surrogate pair; both may come from a page. */
const storable = (text: string): string => text.replaceAll('\0', '').slice(0, textMax).toWellFormed();

function toEvent(attempt: Attempt, resolvedBy: StrategyName | null, secret: Buffer): BlockEvent {
  const { block, egress } = attempt;
  return {
    eventId: newId('evt'),
    at: endOf(attempt),
    owner: attempt.owner,
    domain: attempt.domain,
    url: keptUrl(attempt.url),
    type: block?.type ?? 'unknown',
    vendor: block?.vendor ?? 'unknown',
    confidence: block?.confidence ?? 'low',
    evidence: (block?.evidence ?? []).slice(0, evidenceMax).map(({ kind, id, value_redacted }) => ({
      kind,
      id: storable(id),
      value_redacted: storable(value_redacted),
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

/** Keyed, because all IPv4 addresses are soon hashed. 64 bits tell a few thousand apart. */
const hashIp = (ip: string, secret: Buffer): string => createHmac('sha256', secret).update(`egress ip ${ip}`).digest('hex').slice(0, 16);
