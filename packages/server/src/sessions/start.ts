import { ServiceError, type StorageState } from '@berth/contract';
import type { Audit } from '../audit/audit.ts';
import { BrowserClosed, NavigationError } from '../browser/browser.ts';
import type { Fleet, Machine } from '../fleet/fleet.ts';
import { Cleanup } from '../lib/cleanup.ts';
import type { Clock } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import type { Metering, Ticket } from '../metering/metering.ts';
import type { Owners } from '../owners/owners.ts';
import type { VmKind } from '../runtime/runtime.ts';
import { isUniqueViolation, type Store, type Tables } from '../store/store.ts';
import { LiveSession } from './live.ts';
import { isOver, service } from './session.ts';
import type { SessionSpec } from './spec.ts';
import { countLive, liveNameIndex, moveSession } from './store.ts';
import { writeEnd, writeStart } from './audited-writes.ts';

export interface StartDeps {
  /** Called once when a session is ready, before any drive call. Must not throw. */
  onReady: (session: LiveSession, machine: Machine) => void;
  /** Called when the owner's plan or wallet is exhausted. Must not throw. */
  onExhausted: (session: LiveSession, reason: 'plan_limit' | 'credits_exhausted') => void;
  store: Store;
  owners: Owners;
  metering: Metering;
  audit: Audit;
  fleet: Fleet;
  clock: Clock;
  log: Log;
  live: Map<string, LiveSession>;
  /** Across all owners on this worker. */
  sessionsMax: number;
}

const startNavigationMs = 30_000;
/** Callers of `create` with `wait` wait for this navigation as well. */
const startNavigationMsMax = 60_000;

/** Stores the session as `starting`. @throws ServiceError no_capacity, concurrency_limit, name_taken; then no session exists */
export async function reserve(deps: StartDeps, spec: SessionSpec): Promise<LiveSession> {
  const { record } = spec;
  const session = createLiveSession(deps, spec);
  deps.live.set(record.sessionId, session);
  try {
    // Counted after this session is in the map, so that no other create can come in between.
    if (deps.live.size > deps.sessionsMax)
      throw new ServiceError('no_capacity', 'All browsers of this worker are in use. Try again in a moment.', { retryAfterSeconds: 5 });
    await deps.store.transaction(async (tx) => {
      await assertConcurrencyLimit(deps, tx, spec);
      await writeStart(deps, tx, spec);
    });
    return session;
  } catch (error) {
    deps.live.delete(record.sessionId);
    await Promise.all([session.meter.close(), spec.ticket?.drop()]);
    if (isUniqueViolation(error, liveNameIndex))
      throw new ServiceError('name_taken', `A live session named "${record.name}" already exists. End it, or choose another name.`);
    throw error;
  }
}

function createLiveSession(deps: StartDeps, { record, tier }: SessionSpec): LiveSession {
  const { sessionId: meterId, owner } = record;
  const onExhausted = (reason: 'plan_limit' | 'credits_exhausted'): void => deps.onExhausted(session, reason);
  const session = new LiveSession(record, deps.clock, (sample) => deps.metering.open({ meterId, owner, tier, sample, onExhausted }));
  return session;
}

/** Locks the owner while counting, so that two concurrent creates cannot both take the last place. */
async function assertConcurrencyLimit(
  { owners }: StartDeps,
  tx: Tables,
  { record: { owner }, tier: { concurrency_limit: limit } }: SessionSpec,
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

/** Acquires a machine for a reserved session and makes it ready; rolls everything back on failure. */
export async function startSession(deps: StartDeps, session: LiveSession, spec: SessionSpec): Promise<void> {
  const { signal } = session.abort;
  const { ticket } = spec;
  const cleanup = new Cleanup();
  if (ticket) cleanup.push('ticket', () => ticket.drop());
  cleanup.push('reservation', () => abortStart(deps, session));
  try {
    const machine = await acquireMachine(deps, session, spec, cleanup);
    await prepareMachine(session, machine, spec);
    await markReady(deps, session, { machine, ticket });
    signal.throwIfAborted();
    cleanup.transfer();
  } catch (error) {
    for (const failure of await cleanup.run())
      deps.log.error({ err: failure, session: session.record.sessionId }, 'session start rollback failed');
    throw error;
  }
}

async function abortStart(deps: StartDeps, session: LiveSession): Promise<void> {
  const { record } = session;
  session.stopUsage();
  const reason = 'start_failed';
  const at = deps.clock.now();
  const lastSeen = session.snapshot();
  const moved = await writeEnd(deps, record, { to: 'failed', end: { reason, actor: service }, at, lastSeen });
  if (moved) session.record = { ...session.record, status: 'failed', endedReason: reason, endedAt: at, lastSeen };
  if (!session.ending) deps.live.delete(record.sessionId);
  await session.meter.close();
}

async function acquireMachine(deps: StartDeps, session: LiveSession, spec: SessionSpec, cleanup: Cleanup): Promise<Machine> {
  const { signal } = session.abort;
  const { sessionId, owner } = session.record;
  const { machine, warm } = await deps.fleet.acquire(sessionId, vmKindOf(spec), { owner, signal });
  cleanup.push('lease', () => deps.fleet.release(machine.id));
  session.attachEgress(machine.egress);
  session.warm = warm;
  return machine;
}

/** Nobody watches the pages of a fetch, so these need no compositor. */
const vmKindOf = ({ record, request }: SessionSpec): VmKind => (record.settings.purpose === 'fetch' ? 'shell' : request.kind);

/** Applies the session's egress policy and settings to the machine. */
async function prepareMachine(session: LiveSession, machine: Machine, spec: SessionSpec): Promise<void> {
  const { request, record } = spec;
  machine.egress.apply(spec.policy);
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
    session.subscribe(machine.browser);
    if (request.storage_state) await restoreStorage(machine, request.storage_state, session.abort.signal);
  } catch (cause) {
    if (cause instanceof BrowserClosed)
      throw new ServiceError('no_capacity', 'The browser exited during startup. Try again.', { cause, retryAfterSeconds: 1 });
    throw cause;
  }
  session.machine = machine;
}

async function restoreStorage({ browser }: Machine, state: StorageState, signal: AbortSignal): Promise<void> {
  await browser.tabReady();
  await browser.setStorageState(state, { signal });
}

async function markReady(
  deps: StartDeps,
  session: LiveSession,
  { machine, ticket }: { machine: Machine; ticket: Ticket | null },
): Promise<void> {
  const startedAt = deps.clock.now();
  session.touch();
  const moved = await moveSession(deps.store, session.record.sessionId, { to: 'ready', startedAt });
  if (!moved || !deps.fleet.holds(machine.id)) throw endedDuringStart();
  session.startUsage();
  session.record = { ...session.record, startedAt };
  await assertStillStarting(session);
  // Charged before anyone learns that the session is ready.
  await ticket?.charge(session.meter);
  await assertStillStarting(session);
  session.record = { ...session.record, status: 'ready' };
  deps.onReady(session, machine);
  session.events.emit('session.ready', { warm: session.warm });
}

/** Waits for an end in progress first: it fails, and the start continues, when the store is unavailable. */
async function assertStillStarting(session: LiveSession): Promise<void> {
  await session.ending?.catch(() => undefined);
  if (isOver(session.status)) throw endedDuringStart();
}

const endedDuringStart = (): ServiceError =>
  new ServiceError('session_ended', 'The session ended while it was starting. Create a new one.');

/** Best effort: records the result in `session.startNavigation` and never throws. */
export async function openStartUrl(session: LiveSession, url: string): Promise<void> {
  const { machine } = session;
  if (!machine) return;
  const timeoutMs = machine.browser.timeoutScale.ms(startNavigationMs, startNavigationMsMax);
  const spec = { url, waitUntil: 'load' as const, timeoutMs };
  try {
    await machine.browser.tabReady();
    const outcome = await machine.browser.navigate(machine.browser.activeTab().tabId, spec, { signal: session.abort.signal });
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
