/** Sessions: create, read, update and end them; `withBrowser` is the only access to a session's browser. */
import { setTimeout as sleep } from 'node:timers/promises';
import {
  ServiceError,
  ValidationError,
  type ConnectRequest,
  type CreateSessionRequest,
  type RecordingStatus,
  type SessionStatus,
  type UpdateSessionRequest,
} from '@berth/contract';
import { abortAfter, orAfter } from '@berth/lib/deadline.ts';
import { BrowserClosedError, NavigationError } from '@berth/devtools';
import type { Machine } from '../../fleet/pool/pool.ts';
import { actorOf, ownerOf, type Principal } from '../../accounts/principals/principals.ts';
import { isId } from '@berth/lib/ids.ts';
import { LaneFullError, LaneTimeoutError, Lanes } from '@berth/lib/turns/lanes.ts';
import { Loop } from '@berth/lib/loop.ts';
import { orAbort, whenAborted } from '@berth/lib/or-abort.ts';
import type { Ticket } from '../../accounts/metering/metering.ts';
import type { Rates } from '../../rates/rates.ts';
import { isUniqueViolation, type Tables } from '../../store/store.ts';
import { CreateRateLimiter } from './start/create-rate-limiter.ts';
import { assertReachable, sessionEndedError, sessionNotFound, sessionLost } from './errors.ts';
import { Lifecycle, type LifecycleDeps, type Reservation } from './lifecycle.ts';
import { toView, type LiveSession, type SessionView } from './live.ts';
import { openStartUrl } from './start/prepare.ts';
import { createSessionSpec, toSessionUpdate, type SessionSpec, type SessionSpecDeps } from './start/spec.ts';
import { reconnectOf, type Reconnect } from './connect/reconnect.ts';
import { isOver, service, type End, type SessionPurpose, type SessionRecord } from './session.ts';
import {
  updateSession,
  countByStatus,
  countByWorker,
  deleteEndedSessions,
  findSession,
  findSessionIdByAddress,
  findSessionIdByName,
  listSessions,
  liveNameIndex,
  writeRecordingStatus,
  type ListFilter,
} from './store.ts';

export type { Machine } from '../../fleet/pool/pool.ts';
export type { LiveSession, Connection, SessionView } from './live.ts';
export type { SessionEvent } from './events.ts';
export { AddressInUseError } from './lifecycle.ts';
export { KnownSecrets } from './known-secrets.ts';
export { sessionEndedError, sessionNotFound } from './errors.ts';
export { listenersMax } from './events.ts';
export type { UploadedFile } from './files.ts';
export { closeReasonOf, service } from './session.ts';
export type { End, SessionPurpose, SessionRecord, LastSeen } from './session.ts';
export type { ListFilter } from './store.ts';

export interface SessionsDeps extends LifecycleDeps, SessionSpecDeps {
  retentionHours: number;
  rates: Rates;
  /** Finds claims of idempotency keys that lost workers have left, and resolves with what ends them. */
  findLostClaims?: () => Promise<() => Promise<unknown>>;
}

export interface CreateOptions {
  wait: boolean;
  signal: AbortSignal;
  /** `fetch`: a machine shared by the owner's fetches. */
  purpose?: SessionPurpose;
  /** Where clients find it again. */
  reconnect?: Reconnect | undefined;
  /** The id that it gets, for callers who had to name it before. Default: a new one. */
  sessionId?: string;
}

/** A session of this worker with its browser. */
export interface RunningSession {
  session: LiveSession;
  machine: Machine;
}

export interface SessionCounts {
  /** Sessions by status, without machines of fetches. */
  byStatus: Record<SessionStatus, number>;
  /** Live machines of fetches. */
  fetchMachines: number;
}

const waitingMax = 16;
const waitMsMax = 30_000;
const drainPollMs = 50;
/** A browser that lives answers within milliseconds. */
const closeNoticeMs = 500;
/** Longer than it takes to see why a browser has exited. */
const endNoticeMs = 5000;

export class Sessions {
  readonly #deps: SessionsDeps;
  readonly #lifecycle: Lifecycle;
  readonly timers = new Loop('session-timers', 1000, () => this.#endExpired(), { isEssential: true });
  readonly recovery = new Loop('session-recovery', 10_000, () => this.#recover(), { isEssential: true });
  readonly retention = new Loop('session-retention', 600_000, () => this.#deleteOld());
  #lanes = new Lanes({ width: 1, waitingMax, waitMsMax });
  readonly #createRateLimiter: CreateRateLimiter;
  #draining = false;

  constructor(deps: SessionsDeps) {
    this.#deps = deps;
    this.#lifecycle = new Lifecycle(deps);
    this.#createRateLimiter = new CreateRateLimiter(deps.rates);
  }

  /** The sessions that this worker runs, by id. */
  get live(): ReadonlyMap<string, LiveSession> {
    return this.#lifecycle.live;
  }

  /** Sessions of all owners and workers that can still be read, and live machines of fetches. @throws ServiceError store_unavailable */
  async counts(): Promise<SessionCounts> {
    const byStatus: SessionCounts['byStatus'] = { starting: 0, ready: 0, ending: 0, ended: 0, failed: 0 };
    let fetchMachines = 0;
    for (const { status, purpose, count } of await countByStatus(this.#deps.store)) {
      if (purpose === 'session') byStatus[status] = count;
      else if (status !== 'ended' && status !== 'failed') fetchMachines += count;
    }
    return { byStatus, fetchMachines };
  }

  /** An owner's live sessions by worker. @throws ServiceError store_unavailable */
  byWorker(owner: string): Promise<ReadonlyMap<string, number>> {
    return countByWorker(this.#deps.store, owner);
  }

  /** Called for each call that gets its turn with a session's browser, with how long it waited. */
  onTurn(listener: (waitedMs: number) => void): void {
    this.#lanes.onTurn = listener;
  }

  /** Called once for each session that this worker ends, with its last record. */
  onEnded(listener: (record: SessionRecord) => void): void {
    this.#lifecycle.onEnded(listener);
  }

  /** Called once for each session of this worker that becomes ready, before any drive call. */
  onReady(listener: (session: LiveSession, machine: Machine) => void): void {
    this.#lifecycle.onReady(listener);
  }

  /** Stores the status of a session's recording, which is final only after the session ended. */
  async setRecordingStatus(tx: Tables, sessionId: string, status: RecordingStatus): Promise<void> {
    const session = this.live.get(sessionId);
    if (session) session.recording = status;
    await writeRecordingStatus(tx, sessionId, status);
  }

  /**
   * Starts a session. With `wait` it resolves when the session is ready, else
   * when it is stored.
   * @throws ValidationError, ServiceError
   */
  async create(principal: Principal, request: CreateSessionRequest, options: CreateOptions): Promise<SessionView> {
    const owner = ownerOf(principal);
    this.assertTakesWork();
    this.#deps.fleet.lease.assertHeld();
    this.#deps.disk.assertRoom();
    const tier = await this.#deps.owners.tierOf(owner);
    const purpose = options.purpose ?? 'session';
    const actor = actorOf(principal);
    const { keyId, connectTokenId } = principal;
    const spec = createSessionSpec(
      this.#deps,
      { owner, keyId, connectTokenId, actor, tier, purpose, sessionId: options.sessionId, reconnect: options.reconnect },
      request,
    );
    // Machines for fetches do not count against the owner's create rate.
    const undoCount = await this.#createRateLimiter.consume(owner, purpose === 'session' ? tier.creates_per_minute : null);
    const reservation = await this.#admit(spec, options.signal).catch(async (error: unknown) => {
      await undoCount();
      throw error;
    });
    const { session } = reservation;
    const started = this.#start(reservation);
    session.started = started.catch(async (error: unknown) => {
      if (!(error instanceof ServiceError)) return;
      session.startError = error;
      // The host had no room for it.
      if (error.code === 'no_capacity') await undoCount();
    });
    if (options.wait) await this.#awaitStart(session, started, { signal: options.signal, actor });
    return toView(session.record, session);
  }

  async #admit(spec: Omit<SessionSpec, 'ticket'>, signal: AbortSignal): Promise<Reservation> {
    const { request, record } = spec;
    if (!request.profile) return this.#lifecycle.admit(spec);
    // It is in an address, and was promised to reach nothing but the sessions that it created.
    if (record.settings.connect_token_id !== undefined)
      throw new ServiceError('invalid_connect_token', 'A connect token opens no profiles. Send an API key in the header instead.');
    const { profileId, name } = await this.#deps.profiles.open(record.owner, request.profile, signal);
    const profile = { profile_id: profileId, name, save_changes: request.profile.save_changes };
    return this.#lifecycle.admit({ ...spec, record: { ...record, settings: { ...record.settings, profile } } });
  }

  /** Refuses new work while the operator cordons this worker; what was accepted goes on. @throws ServiceError draining */
  assertTakesWork(): void {
    this.#assertRuns();
    if (this.#deps.fleet.lastHeartbeat.state !== 'active')
      throw new ServiceError('draining', 'The operator lets this worker take no new work. Try again later.', { retryAfterSeconds: 30 });
  }

  #assertRuns(): void {
    if (this.#draining)
      throw new ServiceError('draining', 'This worker is shutting down. Try again in a few seconds.', { retryAfterSeconds: 5 });
  }

  /** Charges for an action. A charge after the session's end still updates its stored usage. */
  charge(session: LiveSession, ticket: Ticket, count?: number): Promise<void> {
    return this.#lifecycle.charge(session, ticket, count);
  }

  /** @throws ServiceError session_not_found, alike for unknown ids and those of other owners */
  async get(owner: string | null, sessionId: string): Promise<SessionView> {
    const session = this.#held(sessionId);
    if (session && canAccess(session.record, owner)) return toView(session.record, session);
    const record = isId('ses', sessionId) ? await findSession(this.#deps.store, sessionId) : undefined;
    if (!record || !canAccess(record, owner)) throw sessionNotFound();
    return toView(record, null);
  }

  /** The id of the owner's live session of that name, else of the last one; undefined for none. */
  idOf(owner: string, name: string): Promise<string | undefined> {
    return findSessionIdByName(this.#deps.store, owner, name);
  }

  /** The id of the live session of an address that finds its browser again; undefined for none. */
  idOfAddress(principal: Principal, query: ConnectRequest): Promise<string | undefined> {
    const reconnect = reconnectOf(principal, query);
    return reconnect ? findSessionIdByAddress(this.#deps.store, ownerOf(principal), reconnect.address) : Promise.resolve(undefined);
  }

  /** Whether clients who connect with this request share a browser. */
  hasAddress(principal: Principal, query: ConnectRequest): boolean {
    return reconnectOf(principal, query) !== null;
  }

  /** Ends in the store the sessions that this worker had before a crash. */
  async recover(): Promise<void> {
    await this.#recover();
  }

  /** Whose session it is and which worker runs it, whoever asks; undefined for an unknown id. */
  async locationOf(sessionId: string): Promise<{ owner: string; workerId: string; isOver: boolean } | undefined> {
    const record = await findSession(this.#deps.store, sessionId);
    return record && { owner: record.owner, workerId: record.workerId, isOver: isOver(record.status) };
  }

  /** Newest first, one more than `limit` where another page follows. */
  async list(filter: ListFilter): Promise<SessionView[]> {
    const records = await listSessions(this.#deps.store, filter);
    return records.map((record) => toView(record, this.#held(record.sessionId)));
  }

  /** The sessions that this worker runs, none of which it has lost with its lease. */
  held(): LiveSession[] {
    return [...this.live.keys()].flatMap((sessionId) => this.#held(sessionId) ?? []);
  }

  /** Whether this worker runs the session, and has not lost it with its lease. */
  isHeld(sessionId: string): boolean {
    return this.#held(sessionId) !== null;
  }

  /** A session of this worker, unless the worker lost its lease: then the store knows more of it. */
  #held(sessionId: string): LiveSession | null {
    // After a freeze a request may be read before the timer that looks at the clock.
    this.#deps.fleet.lease.check();
    const session = this.live.get(sessionId);
    return session && !session.isFenced ? session : null;
  }

  async update(owner: string, sessionId: string, request: UpdateSessionRequest): Promise<SessionView> {
    const { record } = await this.get(owner, sessionId);
    assertReachable(record, this.#deps.workerId);
    const tier = await this.#deps.owners.tierOf(owner);
    const session = this.#held(sessionId);
    if (isOver(record.status)) throw sessionEndedError(record);
    if (!session) throw sessionEndedError({ ...record, status: 'ending', endedReason: 'worker_lost' });
    const change = toSessionUpdate(record, request, tier);
    try {
      if (!(await updateSession(this.#deps.store, sessionId, change))) throw sessionEndedError(session.record);
    } catch (error) {
      if (isUniqueViolation(error, liveNameIndex))
        throw new ServiceError('name_taken', `A live session named "${change.name}" already exists. End it, or choose another name.`);
      throw error;
    }
    session.record = { ...session.record, ...change };
    session.onTimersChanged();
    return toView(session.record, session);
  }

  /** Idempotent while the record exists. `owner` null is the operator, who may end any session. */
  async end(owner: string | null, sessionId: string, end: End): Promise<void> {
    const { record } = await this.get(owner, sessionId);
    const session = this.live.get(sessionId);
    if (session) await this.#lifecycle.end(session, end);
    else assertReachable(record, this.#deps.workerId);
  }

  /** Waits for the start of a session of this worker. @throws ServiceError no_capacity, session_ended, or the start's own error */
  async started(sessionId: string): Promise<void> {
    const session = this.live.get(sessionId);
    await session?.started;
    if (session?.status === 'ready') return;
    if (session?.startError) throw session.startError;
    if (session?.ending || session?.record.status === 'ended') throw sessionEndedError(session.record);
    throw new ServiceError('no_capacity', 'The browser could not be started. Try again in a moment.', { retryAfterSeconds: 2 });
  }

  /** A session whose browser runs. @throws ServiceError session_not_found, session_not_ready, session_ended, worker_unreachable */
  async running(owner: string, sessionId: string): Promise<RunningSession> {
    const { record } = await this.get(owner, sessionId);
    const session = this.#held(sessionId);
    if (session?.status === 'ready' && session.machine && !session.ending) return { session, machine: session.machine };
    throw await this.#notReadyError(record);
  }

  /**
   * A session that can be driven now. Waits for its first tab, or for the one that replaces its last, which a browser
   * that is busy opens late. @throws what `running` throws, and the signal's reason
   */
  async ready(owner: string, sessionId: string, { signal }: { signal: AbortSignal }): Promise<RunningSession> {
    const running = await this.running(owner, sessionId);
    if (await hasTab(running.machine, signal)) return running;
    throw await this.#notReadyError(running.session.record);
  }

  /** `record`: as it was read. */
  async #notReadyError(record: SessionRecord): Promise<ServiceError> {
    const session = this.live.get(record.sessionId);
    // Wait for an end in progress, so that the error reports its reason.
    if (session) await noticeEnd(session);
    await session?.ending?.catch(() => undefined);
    const latest = session && !isOver(record.status) ? session.record : record;
    assertReachable(latest, this.#deps.workerId);
    if (latest.status === 'ready')
      return new ServiceError('session_not_ready', 'The session’s browser does not respond. Try again in a moment.', {
        retryAfterSeconds: 1,
      });
    if (latest.status === 'starting')
      return new ServiceError('session_not_ready', 'The session is still starting. Try again in a moment.', { retryAfterSeconds: 1 });
    return sessionEndedError(latest);
  }

  /**
   * Runs one caller's work at a time, first come first served. The signal
   * passed to `work` also aborts when the session ends.
   */
  async withBrowser<T>(
    owner: string,
    sessionId: string,
    options: { signal: AbortSignal },
    work: (machine: Machine, signal: AbortSignal, session: LiveSession) => Promise<T>,
  ): Promise<T> {
    return await this.#drive(owner, sessionId, options.signal, (session, signal) =>
      this.#lanes.run(sessionId, signal, async () => {
        const { machine } = await this.ready(owner, sessionId, { signal });
        return await work(machine, signal, session);
      }),
    );
  }

  /**
   * Runs work outside the session's queue, such as in a private page. The
   * signal passed to `work` also aborts when the session ends.
   */
  async withBrowserConcurrently<T>(
    owner: string,
    sessionId: string,
    options: { signal: AbortSignal },
    work: (machine: Machine, signal: AbortSignal, session: LiveSession) => Promise<T>,
  ): Promise<T> {
    return await this.#drive(owner, sessionId, options.signal, async (session, signal) => {
      const { machine } = await this.ready(owner, sessionId, { signal });
      return await work(machine, signal, session);
    });
  }

  async #drive<T>(
    owner: string,
    sessionId: string,
    callerSignal: AbortSignal,
    work: (session: LiveSession, signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const { session } = await this.ready(owner, sessionId, { signal: callerSignal });
    const signal = AbortSignal.any([callerSignal, session.abort.signal]);
    session.driving += 1;
    try {
      return await work(session, signal);
    } catch (error) {
      throw await this.#driveError(session, error);
    } finally {
      session.driving -= 1;
      session.touch();
    }
  }

  /**
   * Rejects new sessions, announces the end to live ones, and waits up to `graceMs` for starts and drive calls in progress.
   * Sessions continue until `stop`.
   */
  async drain(graceMs: number): Promise<void> {
    this.#draining = true;
    const { clock } = this.#deps;
    this.#lifecycle.announceDrain(new Date(clock.now().getTime() + graceMs));
    const isBusy = (session: LiveSession) => session.driving > 0 || session.status === 'starting';
    for (const since = clock.monotonicMs(); clock.monotonicMs() - since < graceMs; await sleep(drainPollMs)) {
      if (![...this.live.values()].some(isBusy)) return;
    }
  }

  start(): void {
    this.timers.start();
    this.recovery.start();
    this.retention.start();
  }

  /** Ends every session of this worker and waits until all are disposed. */
  async stop(): Promise<void> {
    this.#draining = true;
    await Promise.all([this.timers.stop(), this.recovery.stop(), this.retention.stop()]);
    const ends = [...this.live.values()].map(async (session) => {
      await this.#lifecycle
        .end(session, { reason: 'drained', actor: service })
        .catch((error: unknown) => this.#deps.log.error({ err: error }, 'session end failed'));
      await session.disposed;
    });
    await Promise.all(ends);
  }

  async #endExpired(): Promise<void> {
    await this.#lifecycle.endExpired();
    const { state, drainSecondsLeft } = this.#deps.fleet.lastHeartbeat;
    if (state !== 'draining' || drainSecondsLeft === null || drainSecondsLeft > 0) return;
    const running = [...this.live.values()].filter((session) => !session.ending);
    await Promise.all(running.map((session) => this.#lifecycle.end(session, { reason: 'drained', actor: service })));
  }

  async #start(reservation: Reservation): Promise<void> {
    const { session, spec } = reservation;
    await this.#lifecycle.start(reservation);
    const url = spec.request.start_url;
    if (url !== null) await this.#lanes.run(session.record.sessionId, session.abort.signal, () => openStartUrl(session, url));
  }

  /** Waits for a start. Ends the session when the caller disconnects, because nobody else knows its id. */
  async #awaitStart(
    session: LiveSession,
    started: Promise<void>,
    { signal, actor }: { signal: AbortSignal; actor: string },
  ): Promise<void> {
    const onAbort = () => void this.#lifecycle.end(session, { reason: 'requested', actor }).catch(() => undefined);
    signal.addEventListener('abort', onAbort, { once: true });
    // Already aborted: the listener is not called any more.
    if (signal.aborted) onAbort();
    try {
      await started;
    } catch (error) {
      signal.throwIfAborted();
      // A fenced worker's session is known to nobody yet, so another create may succeed.
      if (!session.isFenced) {
        if (error instanceof ServiceError || error instanceof ValidationError) throw error;
        if (session.ending) throw sessionEndedError(session.record);
      }
      throw new ServiceError('no_capacity', 'The browser could not be started. Try again in a moment.', {
        cause: error,
        retryAfterSeconds: 2,
      });
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
  }

  async #driveError(session: LiveSession, error: unknown): Promise<unknown> {
    if (error instanceof LaneFullError || error instanceof LaneTimeoutError)
      return new ServiceError('session_busy', 'Too many other calls are waiting for this session. Try again when they have finished.', {
        cause: error,
        retryAfterSeconds: 1,
      });
    if (session.isFenced) return sessionLost('worker_lost', error);
    const noticed = session.ending ? error : await noticeClosed(session, error);
    await noticeEnd(session);
    if (!session.ending) return noticed;
    // The call failed because the session ended: report that instead of the first symptom.
    await session.ending.catch(() => undefined);
    const { status, endedReason } = session.record;
    if (status === 'failed') return sessionLost(endedReason, error);
    return isOver(status) ? sessionEndedError(session.record) : error;
  }

  /** A request of a lost worker may be sent again when its session is not in the way any more: it may have a name. */
  async #recover(): Promise<void> {
    const endClaims = await this.#deps.findLostClaims?.();
    await this.#lifecycle.recover();
    await endClaims?.();
  }

  async #deleteOld(): Promise<void> {
    const { store, clock, retentionHours } = this.#deps;
    await deleteEndedSessions(store, new Date(clock.now().getTime() - retentionHours * 3_600_000));
  }
}

/** False when the browser has exited or hangs. @throws the signal's reason */
async function hasTab({ browser }: Machine, signal: AbortSignal): Promise<boolean> {
  if (browser.isClosed) return false;
  try {
    await orAbort(browser.tabReady(), signal);
    return true;
  } catch {
    signal.throwIfAborted();
    // The fleet detects this as well and ends the session.
    return false;
  }
}

/** A browser that is killed fails its navigations a moment before its pipe closes, which is the reason to report. */
async function noticeClosed({ machine }: LiveSession, error: unknown): Promise<unknown> {
  if (!machine || !(error instanceof NavigationError) || error.reason === 'timeout') return error;
  const answered = machine.browser.ping({ signal: abortAfter(closeNoticeMs) });
  return answered.then(
    () => error,
    (reason: unknown) => (reason instanceof BrowserClosedError ? reason : error),
  );
}

/** A browser that has closed ends its session in a moment, and it is known then whether memory was the reason. */
async function noticeEnd({ ending, machine, abort }: LiveSession): Promise<void> {
  if (!ending && machine?.browser.isClosed === true) await orAfter(whenAborted(abort.signal), endNoticeMs);
}

const canAccess = (record: SessionRecord, owner: string | null): boolean => owner === null || record.owner === owner;
