import {
  ServiceError,
  ValidationError,
  timerBounds,
  type CaptchaProviderName,
  type CaptchaRequest,
  type CreateSessionRequest,
  type Fault,
  type SessionKind,
  type UpdateSessionRequest,
} from '@berth/contract';
import { policyFor } from '../egress/egress.ts';
import type { Clock } from '../lib/clock.ts';
import { newId } from '../lib/ids.ts';
import type { Tier } from '../owners/owners.ts';
import type { Regions } from '../regions/regions.ts';
import type { SessionPurpose, SessionRecord } from './session.ts';
import { proxyWithoutSecrets, type Order } from './start.ts';
import type { Change } from './store.ts';

export interface OrderDeps {
  clock: Clock;
  regions: Regions;
  workerId: string;
  /** Where the owner's tier says nothing. */
  tabLimits: Readonly<Record<SessionKind, number>>;
  /** Who can solve captchas here. */
  captchaProviders: readonly CaptchaProviderName[];
}

/** Idle time of a session that names none. */
const idleTimeoutSeconds = 300;

/** Bounds that only the owner's plan or the regions file knows, in the form of every other fault of the request. */
export function makeOrder(
  deps: OrderDeps,
  who: { owner: string; keyId: string | null; actor: string; tier: Tier; purpose: SessionPurpose },
  request: CreateSessionRequest,
): Omit<Order, 'ticket'> {
  const { tier, actor } = who;
  const faults = planFaults(request, tier.max_session_seconds);
  const region = deps.regions.resolve(request.region);
  if (!region)
    faults.push(
      unknownRegion(
        request.region,
        deps.regions.list().map((known) => known.code),
      ),
    );
  faults.push(...captchaFaults(request.captcha, deps.captchaProviders));
  if (faults.length > 0 || !region) throw new ValidationError(faults);
  const type = request.proxy?.type;
  if ((type === 'managed' || type === 'rotating') && !tier.premium_egress)
    throw new ServiceError('premium_egress_required', `Proxies of the type \`${type}\` need a plan with premium egress.`);

  const now = deps.clock.now();
  const policy = policyFor(request, region);
  const idle = request.idle_timeout_seconds ?? Math.min(idleTimeoutSeconds, request.timeout_seconds);
  return {
    request,
    policy,
    tier,
    actor,
    record: {
      sessionId: newId('ses'),
      owner: who.owner,
      keyId: who.keyId,
      workerId: deps.workerId,
      status: 'starting',
      endedReason: null,
      region: region.code,
      name: request.name,
      metadata: request.metadata,
      settings: settingsOf(request, who.purpose, tier.tab_limit ?? deps.tabLimits[request.kind]),
      lastSeen: unseen,
      timeoutSeconds: request.timeout_seconds,
      idleTimeoutSeconds: idle,
      createdAt: now,
      startedAt: null,
      lastActivityAt: now,
      expiresAt: new Date(now.getTime() + request.timeout_seconds * 1000),
      endedAt: null,
    },
  };
}

const unseen: Order['record']['lastSeen'] = {
  current_url: null,
  title: null,
  egress: { ip: null, country: null, rotations: 0, rotated_at: null },
  tabs_open: 0,
  usage: { actions: 0, browser_seconds: 0, egress_bytes: 0 },
  isolation: 'process',
  runtime: 'process',
  start_navigation: null,
  warm: false,
  vm_id: null,
};

const settingsOf = (request: CreateSessionRequest, purpose: SessionPurpose, tabLimit: number): Order['record']['settings'] => ({
  purpose,
  captcha: request.captcha,
  rec_id: request.record ? newId('rec') : null,
  kind: request.kind,
  keep_alive: request.keep_alive,
  viewport: request.viewport,
  user_agent: request.user_agent,
  locale: request.locale,
  timezone: request.timezone,
  proxy: proxyWithoutSecrets(request.proxy),
  tab_limit: tabLimit,
});

/** The longest session a plan allows is a bound like any other: told with `ctx.le`, never clamped in silence. */
export function planFaults(request: { timeout_seconds?: number | undefined }, most: number): Fault[] {
  const { timeout_seconds: seconds } = request;
  if (seconds === undefined || seconds <= Math.min(most, timerBounds.timeoutSeconds.most)) return [];
  return [
    {
      loc: ['body', 'timeout_seconds'],
      msg: `Input should be less than or equal to ${most}`,
      type: 'less_than_equal',
      input: seconds,
      ctx: { le: most },
    },
  ];
}

/** What an update leaves out stays as it is. */
export function changeOf(record: SessionRecord, request: UpdateSessionRequest, tier: Tier): Change {
  const faults = planFaults(request, tier.max_session_seconds);
  const timeoutSeconds = request.timeout_seconds ?? record.timeoutSeconds;
  const idleTimeoutSeconds = request.idle_timeout_seconds ?? Math.min(record.idleTimeoutSeconds, timeoutSeconds);
  if (idleTimeoutSeconds > timeoutSeconds)
    faults.push({
      loc: ['body', 'idle_timeout_seconds'],
      msg: `Input should be less than or equal to ${timeoutSeconds}`,
      type: 'less_than_equal',
      input: idleTimeoutSeconds,
      ctx: { le: timeoutSeconds },
    });
  if (faults.length > 0) throw new ValidationError(faults);
  return {
    name: request.name === undefined ? record.name : request.name,
    metadata: request.metadata ?? record.metadata,
    timeoutSeconds,
    idleTimeoutSeconds,
    expiresAt: new Date(record.createdAt.getTime() + timeoutSeconds * 1000),
  };
}

/** Nothing is promised that nobody here can do. */
function captchaFaults({ mode, provider }: CaptchaRequest, configured: readonly CaptchaProviderName[]): Fault[] {
  if (mode === 'detect') return [];
  if (configured.length === 0)
    return [
      {
        loc: ['body', 'captcha', 'mode'],
        msg: 'No captcha provider is configured on this service, so nothing would be solved; leave it at `detect`',
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

function unknownRegion(region: string | undefined, codes: string[]): Fault {
  const expected = codes.map((code) => `'${code}'`).join(', ');
  return { loc: ['body', 'region'], msg: `Input should be ${expected}`, type: 'literal_error', input: region ?? null, ctx: { expected } };
}
