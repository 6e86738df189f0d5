/**
 * A session's states and its record.
 *
 *   starting ──► ready ──► ending ──► ended
 *      │  └────────────────▲            ▲
 *      │          └─────────────────────┤  (its worker was lost)
 *      └──► failed ◄── ready            │
 *      └────────────────────────────────┘
 *
 * `ended`: a caller, a timer or the operator ended it. `failed`: an error did.
 */
import type {
  CaptchaRequest,
  CloseReason,
  CreateSessionRequest,
  EgressType,
  EndedReason,
  RecordingStatus,
  SessionStatus,
} from '@berth/contract';
import type { StartNavigation } from '@berth/contract';
import type { z } from 'zod';
import type { Reconnect } from './connect/reconnect.ts';

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

const failures: readonly EndedReason[] = ['start_failed', 'browser_crashed', 'browser_unresponsive', 'vm_lost', 'out_of_memory'];
/** Ends whose sockets are closed with the code of a browser that is gone. */
const losses: readonly EndedReason[] = failures.filter((reason) => reason !== 'start_failed');
/** The status after an end for this reason. */
export const statusAfter = (reason: EndedReason): 'failed' | 'ending' => (failures.includes(reason) ? 'failed' : 'ending');

/** The WebSocket close reason for DevTools clients when their session ends. */
export function closeReasonOf(reason: EndedReason): CloseReason {
  if (reason === 'idle_timeout' || reason === 'max_lifetime') return reason;
  if (reason === 'credits_exhausted') return reason;
  if (reason === 'plan_limit') return 'limit';
  if (losses.includes(reason)) return 'browser_crashed';
  return reason === 'drained' ? 'service_restart' : 'session_ended';
}

/** A requested end: the reason, and the actor for the audit log. */
export interface End {
  reason: EndedReason;
  actor: string;
}

/** The actor of ends that no caller requested. */
export const service = 'service';

/** `session`: created by the caller. `fetch`: a machine that the owner's fetches share. */
export type SessionPurpose = 'session' | 'fetch';

/** Request fields that responses repeat. Contains no secrets. */
export interface SessionSettings {
  /** Absent in rows older than this field. */
  purpose?: SessionPurpose;
  /** Id of the connect token that created the session; absent for API keys. */
  connect_token_id?: string;
  /** Set where clients find it again at its address. */
  reconnect?: Reconnect;
  captcha?: CaptchaRequest;
  kind: CreateSessionRequest['kind'];
  /** Absent in rows older than this field. */
  rec_id?: string | null;
  keep_alive: boolean;
  viewport: CreateSessionRequest['viewport'];
  user_agent: string | null;
  locale: string | null;
  timezone: string | null;
  /** The next two are absent in rows older than these fields. */
  block_ads?: boolean;
  allowed_domains?: string[] | null;
  proxy: {
    type: 'none' | 'managed' | 'rotating' | 'external';
    server: string | null;
    country: string | null;
    rotate: string;
    bypass: string[];
  } | null;
  tab_limit: number;
  /** Absent without one. */
  profile?: { profile_id: string; name: string; save_changes: boolean };
}

/** A session's state when it was last stored. */
export interface LastSeen {
  current_url: string | null;
  title: string | null;
  /** The one that pages see. Absent before the browser has started, and in older rows. */
  user_agent?: string;
  /** `type` is absent in older rows. */
  egress: { type?: EgressType | null; ip: string | null; country: string | null; rotations: number; rotated_at: string | null };
  tabs_open: number;
  /** `captcha_solves` and `credits` are absent in older rows. */
  usage: { actions: number; browser_seconds: number; egress_bytes: number; captcha_solves?: number; credits?: number };
  isolation: 'microvm' | 'process';
  runtime: string;
  /** `message` is absent in older rows. */
  start_navigation: (Omit<z.infer<typeof StartNavigation>, 'message'> & { message?: string | null }) | null;
  warm: boolean;
  /** Absent when the session is not recorded. */
  recording?: RecordingStatus;
  vm_id: string | null;
  /** Absent until the profile is saved. */
  profile_save?: 'saved';
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
