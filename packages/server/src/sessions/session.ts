/**
 * A session's states, and what is kept of it.
 *
 *   starting ──► ready ──► ending ──► ended
 *      │  └────────────────▲            ▲
 *      │          └─────────────────────┤  (its worker died)
 *      └──► failed ◄── ready            │
 *      └────────────────────────────────┘
 *
 * `ended` is the end that somebody or a timer asked for, `failed` the one that
 * nobody wanted.
 */
import type { CaptchaRequest, CloseReason, CreateSessionRequest, EndedReason, RecordingStatus, SessionStatus } from '@berth/contract';
import type { StartNavigation } from '@berth/contract';
import type { z } from 'zod';

export const transitions = {
  starting: ['ready', 'ending', 'failed', 'ended'],
  ready: ['ending', 'failed', 'ended'],
  ending: ['ended'],
  ended: [],
  failed: [],
} as const satisfies Record<SessionStatus, readonly SessionStatus[]>;

/** The states a session may be in just before it becomes `to`: the WHERE of the one UPDATE that moves it. */
export const statesBefore = (to: SessionStatus): SessionStatus[] =>
  (Object.keys(transitions) as SessionStatus[]).filter((from) => (transitions[from] as readonly SessionStatus[]).includes(to));

export const isOver = (status: SessionStatus): boolean => status === 'ending' || status === 'ended' || status === 'failed';

const failures: readonly EndedReason[] = ['start_failed', 'browser_crashed', 'vm_lost', 'out_of_memory'];
/** What a session becomes when it ends for a reason: straight away for a failure, by way of `ending` otherwise. */
export const statusAfter = (reason: EndedReason): 'failed' | 'ending' => (failures.includes(reason) ? 'failed' : 'ending');

/** What a DevTools client is told when its session ends. */
export function closeReasonOf(reason: EndedReason): CloseReason {
  if (reason === 'idle_timeout' || reason === 'max_lifetime') return reason;
  if (reason === 'credits_exhausted') return reason;
  if (reason === 'plan_limit') return 'limit';
  if (reason === 'browser_crashed' || reason === 'vm_lost' || reason === 'out_of_memory') return 'browser_crashed';
  return reason === 'drained' ? 'service_restart' : 'session_ended';
}

/** An end as somebody asks for it: why, and who is answerable in the words of the audit log. */
export interface End {
  reason: EndedReason;
  actor: string;
}

/** The one who ends what nobody asked to have ended. */
export const service = 'service';

/** A caller's own, or a machine that its fetches share. */
export type SessionPurpose = 'session' | 'fetch';

/** What was asked for and is told in replies: no secret among it. */
export interface SessionSettings {
  /** Absent in rows that were written before there were others. */
  purpose?: SessionPurpose;
  captcha?: CaptchaRequest;
  kind: CreateSessionRequest['kind'];
  /** Absent in rows that were written before there were recordings. */
  rec_id?: string | null;
  keep_alive: boolean;
  viewport: CreateSessionRequest['viewport'];
  user_agent: string | null;
  locale: string | null;
  timezone: string | null;
  proxy: {
    type: 'none' | 'managed' | 'rotating' | 'external';
    server: string | null;
    country: string | null;
    rotate: string;
    bypass: string[];
  } | null;
  tab_limit: number;
}

/** What a session last looked like: all that its record tells once its machine is gone. */
export interface LastSeen {
  current_url: string | null;
  title: string | null;
  egress: { ip: string | null; country: string | null; rotations: number; rotated_at: string | null };
  tabs_open: number;
  /** Rows that were written before they were counted have no solves and no credits. */
  usage: { actions: number; browser_seconds: number; egress_bytes: number; captcha_solves?: number; credits?: number };
  isolation: 'microvm' | 'process';
  runtime: string;
  start_navigation: z.infer<typeof StartNavigation> | null;
  warm: boolean;
  /** What has become of the recording; absent where there is none. */
  recording?: RecordingStatus;
  vm_id: string | null;
}

export interface SessionRecord {
  sessionId: string;
  owner: string;
  keyId: string | null;
  workerId: string;
  status: SessionStatus;
  endedReason: EndedReason | null;
  region: string;
  name: string | null;
  metadata: Record<string, string>;
  settings: SessionSettings;
  lastSeen: LastSeen;
  timeoutSeconds: number;
  idleTimeoutSeconds: number;
  createdAt: Date;
  startedAt: Date | null;
  lastActivityAt: Date;
  expiresAt: Date;
  endedAt: Date | null;
}
