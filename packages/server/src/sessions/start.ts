import { ServiceError, type CreateSessionRequest, type ProxyRequest, type StorageState } from '@berth/contract';
import type { Audit } from '../audit/audit.ts';
import { BrowserGone, NavigationError } from '../browser/browser.ts';
import type { EgressPolicy } from '../egress/egress.ts';
import type { Fleet, Machine } from '../fleet/fleet.ts';
import { Cleanup } from '../lib/cleanup.ts';
import type { Clock } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import type { Metering, Ticket } from '../metering/metering.ts';
import type { Owners, Tier } from '../owners/owners.ts';
import type { VmKind } from '../runtime/runtime.ts';
import { isUniqueViolation, type Store, type Tables } from '../store/store.ts';
import { LiveSession } from './live.ts';
import { isOver, service, type SessionRecord } from './session.ts';
import { countLive, liveNameIndex, moveSession } from './store.ts';
import { writeEnd, writeStart } from './written.ts';

export interface StartDeps {
  /** Told when a session has its machine, and before it is driven. Must not throw. */
  ready: (session: LiveSession, machine: Machine) => void;
  /** Told when the owner's plan or wallet has nothing left for a session. Must not throw. */
  exhausted: (session: LiveSession, reason: 'plan_limit' | 'credits_exhausted') => void;
  store: Store;
  owners: Owners;
  metering: Metering;
  audit: Audit;
  fleet: Fleet;
  clock: Clock;
  log: Log;
  live: Map<string, LiveSession>;
  /** Of this worker, whoever's they are. */
  sessionsMax: number;
}

/** All that is needed to start a session, checked against the owner's plan and the region. */
export interface Order {
  record: SessionRecord;
  request: CreateSessionRequest;
  policy: EgressPolicy;
  tier: Tier;
  /** Who asked, in the words of the audit log. */
  actor: string;
  /** What the start costs, kept back for it; null where it costs nothing. */
  ticket: Ticket | null;
}

const startNavigationMs = 30_000;
/** Who waits for the session waits for this too. */
const startNavigationMsMost = 60_000;

/** Writes the session down as `starting`. Throws ServiceError no_capacity, concurrency_limit or name_taken, and then there is no session. */
export async function reserve(deps: StartDeps, order: Order): Promise<LiveSession> {
  const { record } = order;
  const session = makeLive(deps, order);
  deps.live.set(record.sessionId, session);
  try {
    // With this one, and counted where it takes its place: no other can come in between.
    if (deps.live.size > deps.sessionsMax)
      throw new ServiceError('no_capacity', 'All browsers of this worker are in use. Try again in a moment.', { retryAfterSeconds: 5 });
    await deps.store.transaction(async (tx) => {
      await keepWithin(deps, tx, order);
      await writeStart(deps, tx, order);
    });
    return session;
  } catch (error) {
    deps.live.delete(record.sessionId);
    await Promise.all([session.meter.close(), order.ticket?.drop()]);
    if (isUniqueViolation(error, liveNameIndex))
      throw new ServiceError('name_taken', `You have a live session named "${record.name}" already.`);
    throw error;
  }
}

function makeLive(deps: StartDeps, { record, tier }: Order): LiveSession {
  const { sessionId: meterId, owner } = record;
  const onExhausted = (reason: 'plan_limit' | 'credits_exhausted'): void => deps.exhausted(session, reason);
  const session = new LiveSession(record, deps.clock, (sample) => deps.metering.open({ meterId, owner, tier, sample, onExhausted }));
  return session;
}

/** The owner is locked while its sessions are counted, so that two creates cannot both be the last that fits. */
async function keepWithin(
  { owners }: StartDeps,
  tx: Tables,
  { record: { owner }, tier: { concurrency_limit: limit } }: Order,
): Promise<void> {
  if (limit === null) return;
  await owners.lock(tx, owner);
  const active = await countLive(tx, owner);
  if (active >= limit)
    throw new ServiceError('concurrency_limit', `Your plan allows ${limit} sessions at once. End one first.`, {
      details: { limit, active },
      retryAfterSeconds: 5,
    });
}

/** Gives a reserved session its machine and makes it ready; undoes all of it otherwise. */
export async function startSession(deps: StartDeps, session: LiveSession, order: Order): Promise<void> {
  const { signal } = session.abort;
  const { ticket } = order;
  const cleanup = new Cleanup();
  if (ticket) cleanup.push('ticket', () => ticket.drop());
  cleanup.push('reservation', () => giveUp(deps, session));
  try {
    const machine = await lease(deps, session, order, cleanup);
    await attach(session, machine, order);
    await publish(deps, session, { machine, ticket });
    signal.throwIfAborted();
    cleanup.keep();
  } catch (error) {
    for (const failure of await cleanup.run()) deps.log.error({ failure, session: session.record.sessionId }, 'undo failed');
    throw error;
  }
}

async function giveUp(deps: StartDeps, session: LiveSession): Promise<void> {
  const { record } = session;
  session.stopUse();
  const reason = 'start_failed';
  const at = deps.clock.now();
  const lastSeen = session.look();
  const moved = await writeEnd(deps, record, { to: 'failed', end: { reason, actor: service }, at, lastSeen });
  if (moved) session.record = { ...session.record, status: 'failed', endedReason: reason, endedAt: at, lastSeen };
  if (!session.ending) deps.live.delete(record.sessionId);
  await session.meter.close();
}

async function lease(deps: StartDeps, session: LiveSession, order: Order, cleanup: Cleanup): Promise<Machine> {
  const { signal } = session.abort;
  const { sessionId, owner } = session.record;
  const { machine, warm } = await deps.fleet.lease(sessionId, kindOf(order), { owner, signal });
  cleanup.push('lease', () => deps.fleet.release(machine.id));
  session.leaveBy(machine.way);
  session.warm = warm;
  return machine;
}

/** Pages that are fetched are shown to nobody. */
const kindOf = ({ record, request }: Order): VmKind => (record.settings.purpose === 'fetch' ? 'shell' : request.kind);

/** The machine is anybody's until here: now it gets the session's way out and the session's settings. */
async function attach(session: LiveSession, machine: Machine, order: Order): Promise<void> {
  const { request, record } = order;
  machine.way.apply(order.policy);
  try {
    await machine.browser.prepare({
      viewport: request.viewport,
      userAgent: request.user_agent,
      locale: request.locale,
      timezone: request.timezone,
      extraHeaders: request.extra_headers,
      blockResources: request.block_resources,
      acceptDownloads: request.accept_downloads,
      ignoreHttpsErrors: request.ignore_https_errors,
      keepNetworkLog: request.har || request.record,
      tabLimit: record.settings.tab_limit,
    });
    session.follow(machine.browser);
    if (request.storage_state) await fillStorage(machine, request.storage_state, session.abort.signal);
  } catch (cause) {
    if (cause instanceof BrowserGone)
      throw new ServiceError('no_capacity', 'The browser died while it was started. Try again.', { cause, retryAfterSeconds: 1 });
    throw cause;
  }
  session.machine = machine;
}

async function fillStorage({ browser }: Machine, state: StorageState, signal: AbortSignal): Promise<void> {
  await browser.tabReady();
  await browser.setStorageState(state, { signal });
}

async function publish(
  deps: StartDeps,
  session: LiveSession,
  { machine, ticket }: { machine: Machine; ticket: Ticket | null },
): Promise<void> {
  const startedAt = deps.clock.now();
  session.touch();
  const moved = await moveSession(deps.store, session.record.sessionId, { to: 'ready', startedAt });
  if (!moved || !deps.fleet.holds(machine.id)) throw endedMeanwhile();
  session.begin();
  session.record = { ...session.record, startedAt };
  await mayGoOn(session);
  // Nobody is told of a session that is not paid for.
  await ticket?.charge(session.meter);
  await mayGoOn(session);
  session.record = { ...session.record, status: 'ready' };
  deps.ready(session, machine);
  session.events.tell('session.ready', { warm: session.warm });
}

/** An end under way may come to nothing where the store cannot be told of it. */
async function mayGoOn(session: LiveSession): Promise<void> {
  await session.ending?.catch(() => undefined);
  if (isOver(session.status)) throw endedMeanwhile();
}

const endedMeanwhile = (): ServiceError => new ServiceError('session_ended', 'The session was ended while it was starting.');

/** Best effort: how it went is told in the session, and a failure fails nothing. */
export async function openStartUrl(session: LiveSession, url: string): Promise<void> {
  const { machine } = session;
  if (!machine) return;
  const timeoutMs = machine.browser.patience.ms(startNavigationMs, startNavigationMsMost);
  const order = { url, waitUntil: 'load' as const, timeoutMs };
  try {
    await machine.browser.tabReady();
    const outcome = await machine.browser.navigate(machine.browser.activeTab().tabId, order, { signal: session.abort.signal });
    session.startNavigation = { url, status: 'ok', status_code: outcome.statusCode, reason: null, net_error: null };
  } catch (error) {
    const known = error instanceof NavigationError;
    session.startNavigation = {
      url,
      status: 'failed',
      status_code: null,
      reason: known ? error.reason : 'aborted',
      net_error: known ? error.netError : null,
    };
  }
}

/** A proxy as replies tell it: without credentials. */
export function proxyWithoutSecrets(proxy: ProxyRequest | null): SessionRecord['settings']['proxy'] {
  if (!proxy) return null;
  const { type, server, country = null, rotate, bypass } = proxy;
  return { type, server: server ? withoutCredentials(server) : null, country, rotate, bypass };
}

function withoutCredentials(address: string): string {
  const { protocol, host } = new URL(address);
  return `${protocol}//${host}`;
}
