import {
  ValidationError,
  timerBounds,
  type CaptchaProviderName,
  type CaptchaRequest,
  type CreateSessionRequest,
  type ProxyRequest,
  type ValidationIssue,
  type SessionKind,
  type UpdateSessionRequest,
} from '@berth/contract';
import { toEgressPolicy, type EgressPolicy, unknownRegionIssue, type Regions } from '@berth/egress';
import type { Clock } from '@berth/lib/clock.ts';
import { newId } from '@berth/lib/ids.ts';
import type { Ticket } from '../../../accounts/metering/metering.ts';
import type { Tier } from '../../../accounts/owners/owners.ts';
import type { Reconnect } from '../connect/reconnect.ts';
import type { SessionPurpose, SessionRecord } from '../session.ts';
import type { SessionUpdate } from '../store.ts';

/** What a session is started with, checked against the owner's plan and the region. */
export interface SessionSpec {
  record: SessionRecord;
  request: CreateSessionRequest;
  policy: EgressPolicy;
  tier: Tier;
  /** Who created it, as the audit log names them. */
  actor: string;
  /** The credits held for the start; null when the start is free. */
  ticket: Ticket | null;
}

export interface SessionSpecDeps {
  clock: Clock;
  regions: Regions;
  workerId: string;
  /** Used when the owner's tier sets no tab limit. */
  tabLimits: Readonly<Record<SessionKind, number>>;
  /** The captcha providers that are configured. */
  captchaProviders: readonly CaptchaProviderName[];
}

interface Requester {
  owner: string;
  keyId: string | null;
  connectTokenId: string | undefined;
  actor: string;
  tier: Tier;
  purpose: SessionPurpose;
  /** Where clients find it again. */
  reconnect?: Reconnect | undefined;
  /** Default: a new one. */
  sessionId?: string | undefined;
}

/** Used when the request sets none. A plan may allow less. */
const defaultTimeoutSeconds = 900;
const defaultIdleTimeoutSeconds = 300;

/**
 * Checks the bounds that only the owner's plan and the regions file know.
 * @throws ValidationError, ServiceError premium_egress_required, region_unavailable
 */
export function createSessionSpec(deps: SessionSpecDeps, requester: Requester, request: CreateSessionRequest): Omit<SessionSpec, 'ticket'> {
  const { tier, actor } = requester;
  const timeoutSeconds = request.timeout_seconds ?? Math.min(defaultTimeoutSeconds, tier.max_session_seconds);
  const idle = request.idle_timeout_seconds ?? Math.min(defaultIdleTimeoutSeconds, timeoutSeconds);
  const issues = [...planIssues(request, tier.max_session_seconds), ...idleIssues(idle, timeoutSeconds)];
  const region = deps.regions.resolve(request.region);
  if (!region) issues.push(unknownRegionIssue(deps.regions, request.region));
  issues.push(...captchaIssues(request.captcha, deps.captchaProviders));
  if (issues.length > 0 || !region) throw new ValidationError(issues);
  const policy = toEgressPolicy(request, { region, premiumEgress: tier.premium_egress });
  const now = deps.clock.now();
  return {
    request,
    policy,
    tier,
    actor,
    record: {
      sessionId: requester.sessionId ?? newId('ses'),
      owner: requester.owner,
      keyId: requester.keyId,
      workerId: deps.workerId,
      status: 'starting',
      endedReason: null,
      region: region.code,
      name: request.name,
      metadata: request.metadata,
      settings: toSettings(request, requester, tier.tab_limit ?? deps.tabLimits[request.kind]),
      lastSeen: emptyLastSeen,
      timeoutSeconds,
      idleTimeoutSeconds: idle,
      createdAt: now,
      startedAt: null,
      lastActivityAt: now,
      expiresAt: new Date(now.getTime() + timeoutSeconds * 1000),
      endedAt: null,
    },
  };
}

const emptyLastSeen: SessionSpec['record']['lastSeen'] = {
  current_url: null,
  title: null,
  egress: { type: null, ip: null, country: null, rotations: 0, rotated_at: null },
  tabs_open: 0,
  usage: { actions: 0, browser_seconds: 0, egress_bytes: 0 },
  isolation: 'process',
  runtime: 'process',
  start_navigation: null,
  warm: false,
  vm_id: null,
};

const toSettings = (
  request: CreateSessionRequest,
  { purpose, connectTokenId, reconnect }: Requester,
  tabLimit: number,
): SessionSpec['record']['settings'] => ({
  purpose,
  ...(connectTokenId === undefined ? {} : { connect_token_id: connectTokenId }),
  ...(reconnect === undefined ? {} : { reconnect }),
  captcha: request.captcha,
  rec_id: request.record ? newId('rec') : null,
  kind: request.kind,
  keep_alive: request.keep_alive,
  viewport: request.viewport,
  user_agent: request.user_agent,
  locale: request.locale,
  timezone: request.timezone,
  block_ads: request.block_ads,
  allowed_domains: request.allowed_domains,
  proxy: withoutProxySecrets(request.proxy),
  tab_limit: tabLimit,
});

/** The plan's maximum duration is reported with `ctx.le`, never silently clamped. */
export function planIssues(request: { timeout_seconds?: number | undefined }, secondsMax: number): ValidationIssue[] {
  const { timeout_seconds: seconds } = request;
  if (seconds === undefined || seconds <= Math.min(secondsMax, timerBounds.timeoutSeconds.max)) return [];
  return [aboveMaximum('timeout_seconds', seconds, secondsMax)];
}

const idleIssues = (idleSeconds: number, timeoutSeconds: number): ValidationIssue[] =>
  idleSeconds > timeoutSeconds ? [aboveMaximum('idle_timeout_seconds', idleSeconds, timeoutSeconds)] : [];

const aboveMaximum = (field: string, input: number, maximum: number): ValidationIssue => ({
  loc: ['body', field],
  msg: `Input should be less than or equal to ${maximum}`,
  type: 'less_than_equal',
  input,
  ctx: { le: maximum },
});

/** Fields absent from the request keep their values. @throws ValidationError */
export function toSessionUpdate(record: SessionRecord, request: UpdateSessionRequest, tier: Tier): SessionUpdate {
  const timeoutSeconds = request.timeout_seconds ?? record.timeoutSeconds;
  const idleTimeoutSeconds = request.idle_timeout_seconds ?? Math.min(record.idleTimeoutSeconds, timeoutSeconds);
  const issues = [...planIssues(request, tier.max_session_seconds), ...idleIssues(idleTimeoutSeconds, timeoutSeconds)];
  if (issues.length > 0) throw new ValidationError(issues);
  return {
    name: request.name === undefined ? record.name : request.name,
    metadata: request.metadata ?? record.metadata,
    timeoutSeconds,
    idleTimeoutSeconds,
    expiresAt: new Date(record.createdAt.getTime() + timeoutSeconds * 1000),
  };
}

function captchaIssues({ mode, provider }: CaptchaRequest, configured: readonly CaptchaProviderName[]): ValidationIssue[] {
  if (mode === 'detect') return [];
  if (configured.length === 0)
    return [
      {
        loc: ['body', 'captcha', 'mode'],
        msg: 'No captcha provider is configured on this service; use `detect`',
        type: 'value_error',
        input: mode,
        ctx: {},
      },
    ];
  if (provider === undefined || configured.includes(provider)) return [];
  const expected = configured.map((name) => `'${name}'`).join(', ');
  return [
    { loc: ['body', 'captcha', 'provider'], msg: `Input should be ${expected}`, type: 'literal_error', input: provider, ctx: { expected } },
  ];
}

/** The proxy as it appears in responses: without credentials. */
function withoutProxySecrets(proxy: ProxyRequest | null): SessionRecord['settings']['proxy'] {
  if (!proxy) return null;
  const { type, server, country = null, rotate, bypass } = proxy;
  const url = server ? new URL(server) : null;
  return { type, server: url && `${url.protocol}//${url.host}`, country, rotate, bypass };
}
