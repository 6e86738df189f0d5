/** Sessions: create, read, update and end them; `withBrowser` is the only access to a session's browser. */
import { setTimeout as sleep } from 'node:timers/promises';
import { ServiceError, ValidationError, type CreateSessionRequest, type RecordingStatus, type UpdateSessionRequest } from '@berth/contract';
import type { Machine } from '../fleet/fleet.ts';
import { actorOf, ownerOf, type Principal } from '../http/call.ts';
import { isId } from '../lib/ids.ts';
import { LaneFull, LaneTimeout, Lanes } from '../lib/lanes.ts';
import { Loop } from '../lib/loop.ts';
import type { Ticket } from '../metering/metering.ts';
import { isUniqueViolation } from '../store/store.ts';
import { CreateRateLimiter } from './create-rate-limiter.ts';
import { assertReachable, sessionEndedError, sessionNotFound } from './errors.ts';
import { Lifecycle, type LifecycleDeps, type Reservation } from './lifecycle.ts';
import { toView, type LiveSession, type SessionView } from './live.ts';
import { openStartUrl } from './prepare.ts';
import { createSessionSpec, toSessionUpdate, type SessionSpecDeps } from './spec.ts';
import { isOver, service, type End, type SessionPurpose, type SessionRecord } from './session.ts';
import {
  updateSession,
  deleteEndedSessions,
  findSession,
  findSessionIdByName,
  listSessions,
  liveNameIndex,
  writeRecordingStatus,
  type ListFilter,
} from './store.ts';

export type { Machine } from '../fleet/fleet.ts';
export type { LiveSession, Connection, SessionView } from './live.ts';
export type { SessionEvent } from './events.ts';
export { sessionEndedError, sessionNotFound } from './errors.ts';
export { listenersMax } from './events.ts';
export type { UploadedFile } from './files.ts';
export { closeReasonOf, service } from './session.ts';
export type { End, SessionPurpose, SessionRecord, LastSeen } from './session.ts';
export type { ListFilter } from './store.ts';

export interface SessionsDeps extends LifecycleDeps, SessionSpecDeps {
  retentionHours: number;
}

export interface CreateOptions {
  wait: boolean;
  signal: AbortSignal;
  /** `fetch`: a machine shared by the owner's fetches. */
  purpose?: SessionPurpose;
}

const waitingMax = 16;
const waitMsMax = 30_000;
const drainPollMs = 50;

export class Sessions {
  readonly #deps: SessionsDeps;
  readonly #lifecycle: Lifecycle;
  readonly timers = new Loop('session-timers', 1000, () => this.#lifecycle.endExpired());
  readonly recovery = new Loop('session-recovery', 10_000, () => this.#lifecycle.recover());
  readonly retention = new Loop('session-retention', 600_000, () => this.#deleteOld());
  #lanes = new Lanes({ width: 1, waitingMax, waitMsMax });
  #createRateLimiter = new CreateRateLimiter();
  #draining = false;

  constructor(deps: SessionsDeps) {
    this.#deps = deps;
    this.#lifecycle = new Lifecycle(deps);
  }

  /** The sessions that this worker runs, by id. */
  get live(): ReadonlyMap<string, LiveSession> {
    return this.#lifecycle.live;
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
  async setRecordingStatus(sessionId: string, status: RecordingStatus): Promise<void> {
    const session = this.live.get(sessionId);
    if (session) session.recording = status;
    await writeRecordingStatus(this.#deps.store, sessionId, status);
  }

  /**
   * Starts a session. With `wait` it resolves when the session is ready, else
   * when it is stored.
   * @throws ValidationError, ServiceError
   */
  async create(principal: Principal, request: CreateSessionRequest, options: CreateOptions): Promise<SessionView> {
    const owner = ownerOf(principal);
    if (this.#draining)
      throw new ServiceError('draining', 'This worker is shutting down. Try again in a few seconds.', { retryAfterSeconds: 5 });
    this.#deps.disk.assertRoom();
    const tier = await this.#deps.owners.tierOf(owner);
    const purpose = options.purpose ?? 'session';
    const actor = actorOf(principal);
    const { keyId, connectTokenId } = principal;
    const spec = createSessionSpec(this.#deps, { owner, keyId, connectTokenId, actor, tier, purpose }, request);
    // Machines for fetches do not count against the owner's create rate.
    const undoCount = await this.#createRateLimiter.consume(owner, purpose === 'session' ? tier.creates_per_minute : null);
    const reservation = await this.#lifecycle.admit(spec).catch(async (error: unknown) => {
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

  /** Charges for an action. A charge after the session's end still updates its stored usage. */
  charge(session: LiveSession, ticket: Ticket, count?: number): Promise<void> {
    return this.#lifecycle.charge(session, ticket, count);
  }

  /** @throws ServiceError session_not_found, alike for unknown ids and those of other owners */
  async get(owner: string | null, sessionId: string): Promise<SessionView> {
    const session = this.live.get(sessionId);
    if (session && canAccess(session.record, owner)) return toView(session.record, session);
    const record = isId('ses', sessionId) ? await findSession(this.#deps.store, sessionId) : undefined;
    if (!record || !canAccess(record, owner)) throw sessionNotFound();
    return toView(record, null);
  }

  /** The id of the owner's live session of that name, else of the last one; undefined for none. */
  idOf(owner: string, name: string): Promise<string | undefined> {
    return findSessionIdByName(this.#deps.store, owner, name);
  }

  /** Newest first, one more than `limit` where another page follows. */
  async list(filter: ListFilter): Promise<SessionView[]> {
    const records = await listSessions(this.#deps.store, filter);
    return records.map((record) => toView(record, this.live.get(record.sessionId) ?? null));
  }

  async update(owner: string, sessionId: string, request: UpdateSessionRequest): Promise<SessionView> {
    const { record } = await this.get(owner, sessionId);
    assertReachable(record, this.#deps.workerId);
    const session = this.live.get(sessionId);
    if (!session || isOver(record.status)) throw sessionEndedError(record);
    const tier = await this.#deps.owners.tierOf(owner);
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

  /** A session that can be driven now. @throws ServiceError session_not_found, session_not_ready, session_ended, worker_unreachable */
  async ready(owner: string, sessionId: string): Promise<{ session: LiveSession; machine: Machine }> {
    const { record } = await this.get(owner, sessionId);
    const session = this.live.get(sessionId);
    if (session?.status === 'ready' && session.machine && !session.ending && (await hasTab(session.machine)))
      return { session, machine: session.machine };
    // Wait for an end in progress, so that the error reports its reason.
    await session?.ending?.catch(() => undefined);
    const { record: latest } = session ?? { record };
    assertReachable(latest, this.#deps.workerId);
    if (latest.status === 'ready')
      throw new ServiceError('session_not_ready', 'The session’s browser does not respond. Try again in a moment.', {
        retryAfterSeconds: 1,
      });
    if (latest.status === 'starting')
      throw new ServiceError('session_not_ready', 'The session is still starting. Try again in a moment.', { retryAfterSeconds: 1 });
    throw sessionEndedError(latest);
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
        const { machine } = await this.ready(owner, sessionId);
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
      const { machine } = await this.ready(owner, sessionId);
      return await work(machine, signal, session);
    });
  }

  async #drive<T>(
    owner: string,
    sessionId: string,
    callerSignal: AbortSignal,
    work: (session: LiveSession, signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const { session } = await this.ready(owner, sessionId);
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

  /** Rejects new sessions and waits up to `graceMs` for starts and drive calls in progress. Sessions continue until `stop`. */
  async drain(graceMs: number): Promise<void> {
    this.#draining = true;
    const { clock } = this.#deps;
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
      if (error instanceof ServiceError || error instanceof ValidationError) throw error;
      if (session.ending) throw sessionEndedError(session.record);
      throw new ServiceError('no_capacity', 'The browser could not be started. Try again in a moment.', {
        cause: error,
        retryAfterSeconds: 2,
      });
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
  }

  async #driveError(session: LiveSession, error: unknown): Promise<unknown> {
    if (error instanceof LaneFull || error instanceof LaneTimeout)
      return new ServiceError('session_busy', 'Too many other calls are waiting for this session. Try again when they have finished.', {
        cause: error,
        retryAfterSeconds: 1,
      });
    if (!session.ending) return error;
    // The call failed because the session ended: report that instead of the first symptom.
    await session.ending.catch(() => undefined);
    const { status, endedReason } = session.record;
    if (status === 'failed')
      return new ServiceError('session_lost', 'The session’s browser was lost during the call. Create a new session.', {
        cause: error,
        details: { ended_reason: endedReason },
      });
    return isOver(status) ? sessionEndedError(session.record) : error;
  }

  async #deleteOld(): Promise<void> {
    const { store, clock, retentionHours } = this.#deps;
    await deleteEndedSessions(store, new Date(clock.now().getTime() - retentionHours * 3_600_000));
  }
}

/** Waits for the first page, which opens shortly after the browser starts. False when the browser has exited or hangs. */
async function hasTab({ browser }: Machine): Promise<boolean> {
  try {
    await browser.tabReady();
    return true;
  } catch {
    // The fleet detects this as well and ends the session.
    return false;
  }
}

const canAccess = (record: SessionRecord, owner: string | null): boolean => owner === null || record.owner === owner;
