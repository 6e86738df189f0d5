/** Sessions: create, read, change, end, and the one way to a session's browser. */
import { setTimeout as wait } from 'node:timers/promises';
import {
  ServiceError,
  ValidationError,
  type CreateSessionRequest,
  type EndedReason,
  type RecordingStatus,
  type UpdateSessionRequest,
} from '@berth/contract';
import type { Machine, MachineLoss } from '../fleet/fleet.ts';
import { actorOf, ownerOf, type Principal } from '../http/call.ts';
import { isId } from '../lib/ids.ts';
import { LaneFull, LaneTimeout, Lanes } from '../lib/lanes.ts';
import { Loop } from '../lib/loop.ts';
import type { Ticket } from '../metering/metering.ts';
import { isUniqueViolation } from '../store/store.ts';
import { admitStart, charge } from './charge.ts';
import { CreateRates } from './create-rates.ts';
import { endSession, type EndDeps } from './end.ts';
import type { LiveSession } from './live.ts';
import { changeOf, makeOrder, type OrderDeps } from './order.ts';
import { recoverSessions } from './recover.ts';
import { isOver, service, type End, type LastSeen, type SessionPurpose, type SessionRecord } from './session.ts';
import { openStartUrl, reserve, startSession, type Order, type StartDeps } from './start.ts';
import { changeSession, deleteEnded, findSession, listSessions, liveNameIndex, writeRecordingStatus, type ListFilter } from './store.ts';

export type { Machine } from '../fleet/fleet.ts';
export type { LiveSession, Connection } from './live.ts';
export type { SessionEvent } from './events.ts';
export { listenersMax } from './events.ts';
export type { UploadedFile } from './files.ts';
export { closeReasonOf, service } from './session.ts';
export type { End, SessionPurpose, SessionRecord, LastSeen } from './session.ts';
export type { ListFilter } from './store.ts';

export interface SessionsDeps extends Omit<StartDeps, 'live' | 'ready' | 'exhausted'>, OrderDeps {
  retentionHours: number;
}

/** A session as it is told: its record, and what it looks like now. */
export interface SessionView {
  record: SessionRecord;
  seen: LastSeen;
  lastActivityAt: Date;
  connections: number;
  viewers: number;
  pid: number | null;
}

export interface CreateOptions {
  wait: boolean;
  signal: AbortSignal;
  /** `fetch`: a machine that the owner's fetches share. */
  purpose?: SessionPurpose;
}

const waitingMax = 16;
/** When the coming end of a session's life is announced. */
const expiryNoticeMs = 30_000;
const waitMsMax = 30_000;
const drainPollMs = 50;

export class Sessions {
  readonly deps: EndDeps & SessionsDeps;
  readonly live = new Map<string, LiveSession>();
  readonly timers = new Loop('session-timers', 1000, () => this.#endExpired());
  readonly recovery: Loop;
  readonly retention = new Loop('session-retention', 600_000, () => this.#forgetOld());
  #lanes = new Lanes({ width: 1, waitingMax, waitMsMax });
  #rates = new CreateRates();
  #endedListeners: ((record: SessionRecord) => void)[] = [];
  #readyListeners: ((session: LiveSession, machine: Machine) => void)[] = [];
  #draining = false;

  constructor(deps: SessionsDeps) {
    const ended = (record: SessionRecord) => this.#endedListeners.forEach((listener) => listener(record));
    const ready = (session: LiveSession, machine: Machine) => this.#readyListeners.forEach((listener) => listener(session, machine));
    const exhausted = (session: LiveSession, reason: EndedReason) => this.#endUnasked(session, reason);
    this.deps = { ...deps, live: this.live, ended, ready, exhausted };
    this.recovery = new Loop('session-recovery', 10_000, () => recoverSessions(this.deps));
    deps.fleet.onLost((sessionId, loss) => this.#onLost(sessionId, loss));
  }

  /** Told once for each session that this worker ends, with its last record. */
  onEnded(listener: (record: SessionRecord) => void): void {
    this.#endedListeners.push(listener);
  }

  /** Told once for each session of this worker that becomes ready, before anybody drives it. */
  onReady(listener: (session: LiveSession, machine: Machine) => void): void {
    this.#readyListeners.push(listener);
  }

  /** Writes down what has become of a session's recording: that is settled after the session's end. */
  async noteRecording(sessionId: string, status: RecordingStatus): Promise<void> {
    const session = this.live.get(sessionId);
    if (session) session.recording = status;
    await writeRecordingStatus(this.deps.store, sessionId, status);
  }

  /**
   * Starts a session. With `wait` it resolves when the session is ready, else
   * when it is written down. Throws ValidationError and ServiceError.
   */
  async create(principal: Principal, request: CreateSessionRequest, options: CreateOptions): Promise<SessionView> {
    const owner = ownerOf(principal);
    if (this.#draining)
      throw new ServiceError('draining', 'This worker is shutting down. Try again in a moment.', { retryAfterSeconds: 5 });
    const tier = await this.deps.owners.tierOf(owner);
    const purpose = options.purpose ?? 'session';
    const actor = actorOf(principal);
    const order = makeOrder(this.deps, { owner, keyId: principal.keyId, actor, tier, purpose }, request);
    // What the service starts for an owner's fetches is no create of the owner's.
    if (purpose === 'session') await this.#rates.take(owner, tier.creates_per_minute);
    const admitted = { ...order, ticket: purpose === 'session' ? await admitStart(this.deps, order) : null };
    const session = await reserve(this.deps, admitted);
    const started = this.#start(session, admitted);
    session.started = started.catch((error: unknown) => {
      if (error instanceof ServiceError) session.refusal = error;
    });
    if (options.wait) await this.#follow(session, started, { signal: options.signal, actor });
    return this.#view(session.record, session);
  }

  /** Charges what was done in a session. What is charged after its end is told of it all the same. */
  charge(session: LiveSession, ticket: Ticket, count?: number): Promise<void> {
    return charge(this.deps, session, { ticket, count });
  }

  /** Throws session_not_found for an unknown and for a foreign id alike. */
  async get(owner: string | null, sessionId: string): Promise<SessionView> {
    const session = this.live.get(sessionId);
    if (session && mayTouch(session.record, owner)) return this.#view(session.record, session);
    const record = isId('ses', sessionId) ? await findSession(this.deps.store, sessionId) : undefined;
    if (!record || !mayTouch(record, owner)) throw notFound();
    return this.#view(record, null);
  }

  /** Newest first, one more than `limit` where another page follows. */
  async list(filter: ListFilter): Promise<SessionView[]> {
    const records = await listSessions(this.deps.store, filter);
    return records.map((record) => this.#view(record, this.live.get(record.sessionId) ?? null));
  }

  async update(owner: string, sessionId: string, request: UpdateSessionRequest): Promise<SessionView> {
    const { record } = await this.get(owner, sessionId);
    const session = this.live.get(sessionId);
    if (!session || isOver(record.status)) throw sessionEnded(record);
    const tier = await this.deps.owners.tierOf(owner);
    const change = changeOf(record, request, tier);
    try {
      if (!(await changeSession(this.deps.store, sessionId, change))) throw sessionEnded(session.record);
    } catch (error) {
      if (isUniqueViolation(error, liveNameIndex))
        throw new ServiceError('name_taken', `You have a live session named "${change.name}" already.`);
      throw error;
    }
    session.record = { ...session.record, ...change };
    session.expiryTold = false;
    return this.#view(session.record, session);
  }

  /** Idempotent while the record is kept. `owner` null is the operator, who may end anybody's. */
  async end(owner: string | null, sessionId: string, end: End): Promise<void> {
    await this.get(owner, sessionId);
    const session = this.live.get(sessionId);
    if (session) await endSession(this.deps, session, end);
  }

  /** Waits for the start of a session of this worker. Throws no_capacity, or how it ended instead. */
  async started(sessionId: string): Promise<void> {
    const session = this.live.get(sessionId);
    await session?.started;
    if (session?.status === 'ready') return;
    if (session?.refusal) throw session.refusal;
    if (session?.ending || session?.record.status === 'ended') throw sessionEnded(session.record);
    throw new ServiceError('no_capacity', 'The browser could not be started. Try again in a moment.', { retryAfterSeconds: 2 });
  }

  /** A session that can be driven now. Throws session_not_found, session_not_ready, session_ended. */
  async ready(owner: string, sessionId: string): Promise<{ session: LiveSession; machine: Machine }> {
    const { record } = await this.get(owner, sessionId);
    const session = this.live.get(sessionId);
    if (session?.status === 'ready' && session.machine && !session.ending && (await hasTab(session.machine)))
      return { session, machine: session.machine };
    // An end under way is told as what it comes to.
    await session?.ending?.catch(() => undefined);
    const { record: latest } = session ?? { record };
    if (latest.status === 'ready')
      throw new ServiceError('session_not_ready', 'The session’s browser does not answer. Try again in a moment.', {
        retryAfterSeconds: 1,
      });
    if (latest.status === 'starting')
      throw new ServiceError('session_not_ready', 'The session is still starting. Try again in a moment.', { retryAfterSeconds: 1 });
    throw sessionEnded(latest);
  }

  /**
   * The only way to drive a session: one caller at a time, in the order they
   * came. `work` gets a signal that also aborts when the session ends.
   */
  async withBrowser<T>(
    owner: string,
    sessionId: string,
    options: { signal: AbortSignal },
    work: (machine: Machine, signal: AbortSignal, session: LiveSession) => Promise<T>,
  ): Promise<T> {
    return await this.#driving(owner, sessionId, options.signal, (session, signal) =>
      this.#lanes.run(sessionId, signal, async () => {
        const { machine } = await this.ready(owner, sessionId);
        return await work(machine, signal, session);
      }),
    );
  }

  /**
   * For work beside the session's own tabs, such as a private page: it waits
   * for nobody and nobody waits for it. `work` gets a signal that also aborts
   * when the session ends.
   */
  async besideBrowser<T>(
    owner: string,
    sessionId: string,
    options: { signal: AbortSignal },
    work: (machine: Machine, signal: AbortSignal, session: LiveSession) => Promise<T>,
  ): Promise<T> {
    return await this.#driving(owner, sessionId, options.signal, async (session, signal) => {
      const { machine } = await this.ready(owner, sessionId);
      return await work(machine, signal, session);
    });
  }

  async #driving<T>(
    owner: string,
    sessionId: string,
    asked: AbortSignal,
    work: (session: LiveSession, signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const { session } = await this.ready(owner, sessionId);
    const signal = AbortSignal.any([asked, session.abort.signal]);
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

  /** Refuses new sessions, and waits up to `graceMs` for starts and drive calls under way. Sessions go on until `stop`. */
  async drain(graceMs: number): Promise<void> {
    this.#draining = true;
    const { clock } = this.deps;
    const isBusy = (session: LiveSession) => session.driving > 0 || session.status === 'starting';
    for (const since = clock.monotonicMs(); clock.monotonicMs() - since < graceMs; await wait(drainPollMs)) {
      if (![...this.live.values()].some(isBusy)) return;
    }
  }

  start(): void {
    this.timers.start();
    this.recovery.start();
    this.retention.start();
  }

  /** Ends every session of this worker and waits until nothing of them is left. */
  async stop(): Promise<void> {
    this.#draining = true;
    await Promise.all([this.timers.stop(), this.recovery.stop(), this.retention.stop()]);
    const ends = [...this.live.values()].map(async (session) => {
      await endSession(this.deps, session, { reason: 'drained', actor: service }).catch((error: unknown) =>
        this.deps.log.error({ error }, 'a session could not be ended'),
      );
      await session.gone;
    });
    await Promise.all(ends);
  }

  async #start(session: LiveSession, order: Order): Promise<void> {
    await startSession(this.deps, session, order);
    const url = order.request.start_url;
    if (url !== null) await this.#lanes.run(session.record.sessionId, session.abort.signal, () => openStartUrl(session, url));
  }

  /** Waits for a start. The caller that goes away takes the session with it: nobody else knows of it. */
  async #follow(session: LiveSession, started: Promise<void>, { signal, actor }: { signal: AbortSignal; actor: string }): Promise<void> {
    const leave = () => void endSession(this.deps, session, { reason: 'requested', actor }).catch(() => undefined);
    signal.addEventListener('abort', leave, { once: true });
    // Gone before the session was written down: no event comes of that any more.
    if (signal.aborted) leave();
    try {
      await started;
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof ServiceError || error instanceof ValidationError) throw error;
      if (session.ending) throw sessionEnded(session.record);
      throw new ServiceError('no_capacity', 'The browser could not be started. Try again in a moment.', {
        cause: error,
        retryAfterSeconds: 2,
      });
    } finally {
      signal.removeEventListener('abort', leave);
    }
  }

  async #driveError(session: LiveSession, error: unknown): Promise<unknown> {
    if (error instanceof LaneFull || error instanceof LaneTimeout)
      return new ServiceError('session_busy', 'Other calls are driving this session. Try again when they are done.', {
        cause: error,
        retryAfterSeconds: 1,
      });
    if (!session.ending) return error;
    // The call failed because the session ended under it: say that, and not what broke first.
    await session.ending.catch(() => undefined);
    const { status, endedReason } = session.record;
    if (status === 'failed')
      return new ServiceError('session_lost', 'The session’s browser was lost during the call.', {
        cause: error,
        details: { ended_reason: endedReason },
      });
    return isOver(status) ? sessionEnded(session.record) : error;
  }

  #onLost(sessionId: string, loss: MachineLoss): void {
    const session = this.live.get(sessionId);
    if (session)
      this.#endUnasked(session, loss.how === 'out_of_memory' ? 'out_of_memory' : loss.how === 'vm_gone' ? 'vm_lost' : 'browser_crashed');
  }

  /** Nobody waits for it: what the store cannot be told of now, the timers try again. */
  #endUnasked(session: LiveSession, reason: EndedReason): void {
    const { sessionId } = session.record;
    if (isOver(session.status)) return;
    endSession(this.deps, session, { reason, actor: service }).catch((error: unknown) =>
      this.deps.log.error({ error, session: sessionId, reason }, 'the end of a session could not be written down'),
    );
  }

  async #endExpired(): Promise<void> {
    for (const session of this.live.values()) this.#announceExpiry(session);
    const due = [...this.live.values()].map((session) => ({ session, end: session.overdue ?? expiryOf(session) }));
    await Promise.all(due.flatMap(({ session, end }) => (end ? [endSession(this.deps, session, end)] : [])));
  }

  #announceExpiry(session: LiveSession): void {
    if (session.expiryTold || session.status !== 'ready' || session.leftMs() > expiryNoticeMs) return;
    session.expiryTold = true;
    session.events.tell('session.expiring', { reason: 'max_lifetime', expires_at: session.record.expiresAt.toISOString() });
  }

  async #forgetOld(): Promise<void> {
    const { store, clock, retentionHours } = this.deps;
    await deleteEnded(store, new Date(clock.now().getTime() - retentionHours * 3_600_000));
  }

  #view(record: SessionRecord, session: LiveSession | null): SessionView {
    if (!session) return { record, seen: record.lastSeen, lastActivityAt: record.lastActivityAt, connections: 0, viewers: 0, pid: null };
    const over = isOver(session.status);
    return {
      record: session.record,
      seen: session.look(),
      lastActivityAt: over ? session.record.lastActivityAt : session.lastActivityAt(),
      connections: session.connections.size,
      viewers: session.viewers,
      pid: over ? null : (session.machine?.vm.pid ?? null),
    };
  }
}

/** Waits for the first page, which comes a little after its browser; false where it never will. */
async function hasTab({ browser }: Machine): Promise<boolean> {
  try {
    await browser.tabReady();
    return true;
  } catch {
    // The browser is gone or hangs: the fleet hears of it as well, and the session ends.
    return false;
  }
}

function expiryOf(session: LiveSession): End | null {
  const reason = session.expired();
  return reason && { reason, actor: service };
}

const mayTouch = (record: SessionRecord, owner: string | null): boolean => owner === null || record.owner === owner;

const notFound = (): ServiceError => new ServiceError('session_not_found', 'There is no such session.');

export const sessionEnded = (record: SessionRecord): ServiceError =>
  new ServiceError('session_ended', 'The session has ended.', { details: { ended_reason: record.endedReason, status: record.status } });
