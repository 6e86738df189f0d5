import { z } from 'zod';
import type { AdminSessionResponse, SessionResponse } from '@berth/contract';
import { decodeCursor, pageHeaders } from '../../http/cursor.ts';
import { toCdpUrl } from './connect/cdp-connections.ts';
import { isOver, type LastSeen, type SessionRecord } from './session.ts';
import type { ListFilter, SessionView } from './sessions.ts';

/** `origin` is the service's origin as the caller reaches it. */
export function toSession({ record, snapshot, lastActivityAt, connections, viewers }: SessionView, origin: string): SessionResponse {
  const { settings } = record;
  const recId = settings.rec_id ?? null;
  return {
    session_id: record.sessionId,
    object: 'session',
    status: record.status,
    ended_reason: record.endedReason,
    kind: settings.kind,
    purpose: settings.purpose ?? 'session',
    region: record.region,
    name: record.name,
    metadata: record.metadata,
    created_at: record.createdAt.toISOString(),
    started_at: record.startedAt?.toISOString() ?? null,
    last_activity_at: lastActivityAt.toISOString(),
    expires_at: record.expiresAt.toISOString(),
    ended_at: record.endedAt?.toISOString() ?? null,
    timeout_seconds: record.timeoutSeconds,
    idle_timeout_seconds: record.idleTimeoutSeconds,
    keep_alive: settings.keep_alive,
    current_url: snapshot.current_url,
    title: snapshot.title,
    viewport: settings.viewport,
    user_agent: settings.user_agent ?? snapshot.user_agent ?? null,
    locale: settings.locale,
    timezone: settings.timezone,
    connect_url: `${origin}/v1/session/${record.sessionId}/connect`,
    cdp_url: toCdpUrl(origin, record.sessionId),
    live_view_url: `${origin}/v1/session/${record.sessionId}/live-view`,
    proxy: settings.proxy,
    profile: toSessionProfile(record, snapshot),
    block_ads: settings.block_ads ?? false,
    allowed_domains: settings.allowed_domains ?? null,
    captcha: { mode: settings.captcha?.mode ?? 'detect', provider: settings.captcha?.provider ?? null },
    egress: { type: null, ...snapshot.egress },
    tabs: { open: snapshot.tabs_open, limit: settings.tab_limit },
    connections: { cdp: connections, viewers },
    recording: {
      enabled: recId !== null,
      rec_id: recId,
      status: recId === null ? null : (snapshot.recording ?? (isOver(record.status) ? 'failed' : 'recording')),
    },
    usage: { captcha_solves: 0, credits: 0, ...snapshot.usage },
    isolation: snapshot.isolation,
    runtime: snapshot.runtime,
    start_navigation: snapshot.start_navigation && { message: null, ...snapshot.start_navigation },
    warm: snapshot.warm,
  };
}

export function toAdminSession(view: SessionView, origin: string): AdminSessionResponse {
  const { record, snapshot } = view;
  const session = toSession(view, origin);
  const { credits } = session.usage;
  return {
    ...session,
    owner: record.owner,
    key_id: record.keyId,
    worker_id: record.workerId,
    vm_id: snapshot.vm_id,
    pid: view.pid,
    cost: { credits },
  };
}

function toSessionProfile({ settings: { profile }, status }: SessionRecord, { profile_save: saved }: LastSeen): SessionResponse['profile'] {
  if (!profile) return null;
  const isLost = status === 'ended' || status === 'failed';
  return { ...profile, save_status: profile.save_changes ? (saved ?? (isLost ? 'failed' : 'pending')) : null };
}

type PageCall = Parameters<typeof pageHeaders>[0];

/** The last millisecond of the year 9999, the latest that the database reads. */
const timestampMsMax = 253_402_300_799_999;
/** Cursors come from callers, so values that the database would reject are rejected here. */
const Position = z.tuple([z.int().min(0).max(timestampMsMax), z.string().regex(/^ses_[0-9a-z]+$/)]);

/** The position that a cursor encodes. @throws ValidationError for an invalid cursor */
export function parseListCursor(cursor: string | undefined): ListFilter['after'] {
  if (cursor === undefined) return undefined;
  const [createdMs, sessionId] = decodeCursor(cursor, Position);
  return { createdAt: new Date(createdMs), sessionId };
}

/** Drops the extra row and sets the headers that say whether another page follows. */
export const toPage = (call: PageCall, views: SessionView[], limit: number): SessionView[] =>
  pageHeaders(call, views, limit, ({ record }) => [record.createdAt.getTime(), record.sessionId]);
