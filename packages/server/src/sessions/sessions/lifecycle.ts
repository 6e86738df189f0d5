/**
 * The life of the sessions that this worker runs.
 *
 * A start takes five steps: it reserves a row, leases a machine, attaches the
 * session to it, publishes that it is ready and announces that. Each step pushes
 * its undo, and one catch runs them. An end is idempotent and possible in every state.
 */
import { ServiceError, type EndedReason } from '@berth/contract';
import type { Audit } from '../../accounts/audit/audit.ts';
import type { Fleet, Machine, MachineLoss } from '../../fleet/pool/pool.ts';
import type { Disk } from '../../disk/disk.ts';
import { Cleanup } from '@berth/lib/cleanup.ts';
import type { Clock } from '@berth/lib/clock.ts';
import type { Log } from '@berth/lib/log.ts';
import { nameSession } from '@berth/lib/turns/sections.ts';
import type { Metering, Ticket } from '../../accounts/metering/metering.ts';
import type { Owners } from '../../accounts/owners/owners.ts';
import type { Profiles, UsedProfile } from '../profiles/profiles.ts';
import { isUniqueViolation, type Store, type Tables } from '../../store/store.ts';
import { sessionLost } from './errors.ts';
import { LiveSession } from './live.ts';
import { prepareMachine, vmKindOf } from './start/prepare.ts';
import { isSavingProfile, saveProfile } from './start/profile.ts';
import { closeReasonOf, isOver, service, statusAfter, type End, type LastSeen, type SessionRecord } from './session.ts';
import type { SessionSpec } from './start/spec.ts';
import {
  countLive,
  findSession,
  insertSession,
  listStrandedSessions,
  liveAddressIndex,
  liveNameIndex,
  moveSession,
  profileWriterIndex,
  writeUsage,
  type SessionTransition,
} from './store.ts';

export interface LifecycleDeps {
  store: Store;
  owners: Owners;
  metering: Metering;
  audit: Audit;
  fleet: Fleet;
  disk: Disk;
  profiles: Profiles;
  clock: Clock;
  log: Log;
  workerId: string;
  /** Maximum sessions across all owners on this worker. */
  sessionsMax: number;
}

/** The address has a session, so no other was created. */
export class AddressInUseError extends Error {}

/** A session whose start has begun. */
export interface Reservation {
  session: LiveSession;
  spec: SessionSpec;
  cleanup: Cleanup;
  isStored: boolean;
}

/** Time limit longer than any start: the wait in the boot queue, the boot, and restoring the storage state. */
const startMsMax = 300_000;

export class Lifecycle {
  readonly live = new Map<string, LiveSession>();
  readonly #deps: LifecycleDeps;
  #drainsAt: Date | null = null;
  readonly #endedListeners: ((record: SessionRecord) => void)[] = [];
  readonly #readyListeners: ((session: LiveSession, machine: Machine) => void)[] = [];

  constructor(deps: LifecycleDeps) {
    this.#deps = deps;
    deps.fleet.onLost((sessionId, loss) => {
      const session = this.live.get(sessionId);
      if (session) this.#endByService(session, endedReasonOf(loss));
    });
    deps.fleet.lease.onFenced(() => this.#fence());
  }

  onEnded(listener: (record: SessionRecord) => void): void {
    this.#endedListeners.push(listener);
  }

  onReady(listener: (session: LiveSession, machine: Machine) => void): void {
    this.#readyListeners.push(listener);
  }

  /** Holds the cost, but for the machines of fetches, and reserves. @throws ServiceError plan_limit_exceeded, insufficient_credits */
  async admit(spec: Omit<SessionSpec, 'ticket'>): Promise<Reservation> {
    if (!isOfFetches(spec.record)) nameSession(spec.record.sessionId);
    return this.#reserve({ ...spec, ticket: isOfFetches(spec.record) ? null : await this.#holdCost(spec) });
  }

  async #holdCost({ record, request }: Pick<SessionSpec, 'record' | 'request'>): Promise<Ticket> {
    const { owner, sessionId } = record;
    const { metering } = this.#deps;
    // A session that is to solve captchas needs at least one solve left.
    if (request.captcha.mode === 'solve') await (await metering.admit(owner, { axis: 'captcha' })).drop();
    return metering.admit(owner, { axis: 'session', opId: `session:${sessionId}:start`, ttlMs: startMsMax });
  }

  /** Stores the session as `starting`. @throws ServiceError no_capacity, concurrency_limit, name_taken; then no session exists */
  async #reserve(spec: SessionSpec): Promise<Reservation> {
    const session = this.#createLive(spec);
    const reservation: Reservation = { session, spec, cleanup: new Cleanup(), isStored: false };
    const { ticket } = spec;
    if (ticket) reservation.cleanup.push('ticket', () => ticket.drop());
    this.live.set(spec.record.sessionId, session);
    reservation.cleanup.push('reservation', () => this.#undoReservation(reservation));
    await this.#orUndo(reservation, async () => {
      // Counted after this session is in the map, so that no other create can come in between.
      if (this.live.size > this.#deps.sessionsMax)
        throw new ServiceError('no_capacity', 'All browsers of this worker are in use. Try again in a moment.', { retryAfterSeconds: 5 });
      await this.#insert(spec);
    });
    reservation.isStored = true;
    return reservation;
  }

  /** Resolves when the session is ready; on failure nothing of it is left but its row. */
  start(reservation: Reservation): Promise<void> {
    const { session, cleanup } = reservation;
    return this.#orUndo(reservation, async () => {
      const machine = await this.#lease(reservation);
      await this.#attach(reservation, machine);
      await this.#publish(reservation, machine);
      this.#announce(session, machine);
      session.abort.signal.throwIfAborted();
      cleanup.transfer();
    });
  }

  /**
   * Ends a session. Resolves when the end is stored; the machine is released
   * right after, and `session.disposed` resolves then. All callers share one end,
   * and the first reason counts.
   */
  end(session: LiveSession, end: End): Promise<void> {
    if (session.end.state === 'begun') return session.end.stored;
    const stored = this.#end(session, end).catch((error: unknown) => {
      session.end = { state: 'due', end };
      throw error;
    });
    session.end = { state: 'begun', reason: end.reason, stored };
    return stored;
  }

  /** The lease is lost: clients are disconnected at once, and the ends are stored when the database can be reached. */
  #fence(): void {
    for (const session of this.live.values()) {
      if (isOver(session.status)) continue;
      session.isFenced = true;
      session.stopUsage();
      // Listeners must not wait for the database. An end that is being stored is the one that they get.
      emitEnd(session, session.end.state === 'begun' ? session.end.reason : 'worker_lost');
      session.abort.abort(sessionLost('worker_lost'));
      for (const connection of [...session.connections, ...session.tunnels.values()]) connection.close(closeReasonOf('worker_lost'));
      this.#endByService(session, 'worker_lost');
    }
  }

  /** Ends the sessions whose time is over, and retries ends that could not be stored. */
  async endExpired(): Promise<void> {
    const sessions = [...this.live.values()];
    for (const session of sessions) this.#announceExpiry(session);
    const due = sessions.map((session) => ({ session, end: dueEnd(session) }));
    await Promise.all(due.flatMap(({ session, end }) => (end ? [this.end(session, end)] : [])));
  }

  /**
   * Ends live sessions in the store that no worker runs: those of lost workers,
   * and this worker's own from before a crash. The reason is
   * `worker_lost`, or the one that an interrupted end already had.
   */
  async recover(): Promise<void> {
    const { store, log, workerId } = this.#deps;
    for (const record of await listStrandedSessions(store, workerId)) {
      if (this.live.has(record.sessionId)) continue;
      const moved = record.endedReason ? await moveSession(store, record.sessionId, { to: 'ended' }) : await this.#writeLost(record);
      if (moved) log.warn({ session_id: record.sessionId }, 'session of a lost worker ended');
    }
  }

  /** Charges for an action. A charge after the session's end still updates its stored usage. */
  async charge(session: LiveSession, ticket: Ticket, count?: number): Promise<void> {
    await ticket.charge(session.meter, count);
    await session.ending?.catch(() => undefined);
    if (!isOver(session.status)) return;
    const { sessionId, lastSeen } = session.record;
    const usage = session.usage();
    session.record = { ...session.record, lastSeen: { ...lastSeen, usage } };
    await writeUsage(this.#deps.store, sessionId, usage).catch((error: unknown) =>
      this.#deps.log.warn({ err: error, session_id: sessionId }, 'session usage write failed'),
    );
  }

  async #orUndo<T>({ session, cleanup }: Reservation, steps: () => Promise<T>): Promise<T> {
    try {
      return await steps();
    } catch (error) {
      for (const failure of await cleanup.run())
        this.#deps.log.error({ err: failure, session_id: session.record.sessionId }, 'session start rollback failed');
      throw error;
    }
  }

  #createLive({ record, tier, policy: { type: egressType } }: SessionSpec): LiveSession {
    const { metering, clock, disk } = this.#deps;
    const { sessionId: meterId, owner } = record;
    const onExhausted = (reason: 'plan_limit' | 'credits_exhausted'): void => this.#endByService(session, reason);
    const session = new LiveSession(record, { clock, disk }, (sample) =>
      metering.open({ meterId, owner, tier, egressType, sample, onExhausted }),
    );
    return session;
  }

  async #insert({ record, request, tier, actor }: SessionSpec): Promise<void> {
    const { owner, sessionId: subject } = record;
    const profile = usedProfileOf(record, actor);
    const { store, profiles } = this.#deps;
    try {
      await store.transaction(async (tx) => {
        if (!isOfFetches(record)) await this.#assertConcurrencyLimit(tx, owner, tier.concurrency_limit);
        if (profile) await profiles.use(tx, { ...profile, mayCreate: profile.mayCreate && request.profile?.id === undefined });
        await insertSession(tx, record);
        if (!isOfFetches(record)) await this.#deps.audit.record(tx, { actor, action: 'session.created', owner, subject });
      });
    } catch (error) {
      if (isUniqueViolation(error, liveAddressIndex)) throw new AddressInUseError('another client has connected to the address');
      if (isUniqueViolation(error, liveNameIndex))
        throw new ServiceError('name_taken', `A live session named "${record.name}" already exists. End it, or choose another name.`);
      if (profile && isUniqueViolation(error, profileWriterIndex)) throw await profiles.lockedError(profile);
      throw error;
    }
  }

  /** Locks the owner while counting, so that two concurrent creates cannot both take the last place. */
  async #assertConcurrencyLimit(tx: Tables, owner: string, limit: number | null): Promise<void> {
    if (limit === null) return;
    await this.#deps.owners.lock(tx, owner);
    const active = await countLive(tx, owner);
    if (active >= limit)
      throw new ServiceError(
        'concurrency_limit',
        `Your plan allows ${limit} ${limit === 1 ? 'session' : 'sessions'} at once. End one first.`,
        {
          details: { limit, active },
          retryAfterSeconds: 5,
        },
      );
  }

  async #undoReservation({ session, isStored }: Reservation): Promise<void> {
    if (isStored) {
      session.stopUsage();
      await this.#writeEnd(session, { reason: 'start_failed', actor: service }, { lastSeen: session.snapshot() });
    }
    // A session that has ended leaves the map when it is disposed.
    if (!isStored || !session.ending) this.live.delete(session.record.sessionId);
    session.closeDisk();
    await session.meter.close();
  }

  async #lease({ session, spec, cleanup }: Reservation): Promise<Machine> {
    const { fleet } = this.#deps;
    const { sessionId, owner } = session.record;
    const { machine, warm } = await fleet.acquire(sessionId, vmKindOf(spec), { owner, signal: session.abort.signal });
    cleanup.push('lease', () => fleet.release(machine.id));
    session.attachEgress(machine.egress);
    session.warm = warm;
    return machine;
  }

  async #attach({ session, spec }: Reservation, machine: Machine): Promise<void> {
    machine.egress.apply(spec.policy);
    await prepareMachine(session, machine, { ...this.#deps, spec });
    session.machine = machine;
  }

  async #publish({ session, spec: { ticket } }: Reservation, machine: Machine): Promise<void> {
    const { store, clock, fleet } = this.#deps;
    const startedAt = clock.now();
    session.touch();
    const moved = await moveSession(store, session.record.sessionId, { to: 'ready', startedAt });
    if (!moved || !fleet.holds(machine.id)) throw endedDuringStart();
    session.startUsage();
    session.record = { ...session.record, startedAt };
    await assertStillStarting(session);
    // Charged before anyone learns that the session is ready.
    await ticket?.charge(session.meter);
    await assertStillStarting(session);
    session.record = { ...session.record, status: 'ready' };
  }

  #announce(session: LiveSession, machine: Machine): void {
    for (const listener of this.#readyListeners) listener(session, machine);
    session.events.emit('session.ready', { warm: session.warm });
  }

  async #end(session: LiveSession, end: End): Promise<void> {
    const { reason } = end;
    session.stopUsage();
    await this.#writeEnd(session, end, { lastSeen: session.snapshot(), lastActivityAt: session.lastActivityAt() });
    session.abort.abort(new Error(`the session ended: ${reason}`));
    // The events of a save come before it.
    if (!isSavingProfile(session)) emitEnd(session, reason);
    for (const connection of [...session.connections, ...session.tunnels.values()]) connection.close(closeReasonOf(reason));
    for (const listener of this.#endedListeners) listener(session.record);
    session.disposed = this.#dispose(session);
  }

  async #dispose(session: LiveSession): Promise<void> {
    const { store, fleet, log } = this.#deps;
    const { sessionId } = session.record;
    await session.started;
    if (isSavingProfile(session)) await saveProfile(session, this.#deps);
    emitEnd(session, session.record.endedReason ?? 'requested');
    if (session.machine) await fleet.release(session.machine.id);
    session.closeDisk();
    try {
      if (session.status === 'ending' && (await moveSession(store, sessionId, { to: 'ended' })))
        session.record = { ...session.record, status: 'ended' };
    } catch (error) {
      // Recovery at the next start of this worker finishes the row.
      log.error({ err: error, session_id: sessionId }, 'session end write failed');
    }
    if (isOver(session.status)) this.live.delete(sessionId);
    await session.meter.close();
  }

  /** Runs in the background. When the store is unavailable, the timers retry. */
  #endByService(session: LiveSession, reason: EndedReason): void {
    if (isOver(session.status)) return;
    const { sessionId } = session.record;
    this.end(session, { reason, actor: service }).catch((error: unknown) =>
      this.#deps.log.error({ err: error, session_id: sessionId, reason }, 'session end write failed'),
    );
  }

  /** Emits to each session that its worker is stopping, and when it ends at the latest; to those that become ready later as well. */
  announceDrain(at: Date): void {
    this.#drainsAt = at;
    for (const session of this.live.values()) this.#announceExpiry(session);
  }

  #announceExpiry(session: LiveSession): void {
    session.drainsAt = this.#drainsAt;
    const notice = session.nextExpiryNotice();
    if (notice) session.events.emit('session.expiring', { reason: notice.reason, expires_at: notice.at.toISOString() });
  }

  /** Updates the session's record unless another transition came first. */
  async #writeEnd(session: LiveSession, end: End, last: LastState): Promise<void> {
    const transition = { to: statusAfter(end.reason), at: this.#deps.clock.now() };
    try {
      await this.#writeTransition(session, end, { ...transition, ...last });
    } catch (error) {
      // The store is unavailable: any write would fail.
      if (error instanceof ServiceError) throw error;
      // The last state has text of pages. Whatever the database refuses of it, the session ends.
      const { sessionId, lastSeen } = session.record;
      this.#deps.log.error({ err: error, session_id: sessionId }, 'last state of a session not stored');
      const usageOnly = { ...last, lastSeen: { ...lastSeen, usage: last.lastSeen.usage } };
      await this.#writeTransition(session, end, { ...transition, ...usageOnly });
    }
  }

  async #writeTransition(session: LiveSession, end: End, transition: EndTransition & LastState): Promise<void> {
    const { to: status, at: endedAt, ...last } = transition;
    const moved = await this.#moveToEnd(session.record, end, transition);
    if (!moved && isOver(session.status)) return;
    // Another worker was faster after this one had lost its lease.
    const stored = moved ? undefined : await findSession(this.#deps.store, session.record.sessionId);
    session.record = stored ?? { ...session.record, status, endedReason: end.reason, endedAt, ...last };
  }

  /** The usage is the one that the lost worker wrote last. */
  async #writeLost(record: SessionRecord): Promise<boolean> {
    const { metering, clock } = this.#deps;
    const { sessions: _, ...usage } = await metering.readWrittenUsage(record.sessionId);
    return this.#moveToEnd(record, { reason: 'worker_lost', actor: service }, { to: 'ended', at: clock.now(), usage });
  }

  /** Moves a session to its end with its audit entry, in one transaction. False when another transition came first. */
  #moveToEnd(record: SessionRecord, { reason, actor }: End, { at, ...move }: EndTransition): Promise<boolean> {
    const { owner, sessionId: subject } = record;
    const { store, audit, profiles } = this.#deps;
    const profile = record.startedAt === null ? usedProfileOf(record, actor) : null;
    return store.transaction(async (tx) => {
      const moved = await moveSession(tx, subject, { ...move, ended: { reason, at } });
      if (moved && !isOfFetches(record)) await audit.record(tx, { actor, action: 'session.ended', owner, subject, details: { reason } });
      if (moved && profile?.mayCreate) await profiles.discard(tx, profile);
      return moved;
    });
  }
}

/** What a session's row retains of its last moment. */
interface LastState {
  lastSeen: LastSeen;
  lastActivityAt?: Date;
}

type EndTransition = Omit<SessionTransition, 'ended' | 'startedAt'> & { at: Date };

/** The service itself starts and ends machines for fetches: they have no audit entries and are not the plan's sessions. */
const isOfFetches = ({ settings }: SessionRecord): boolean => settings.purpose === 'fetch';

function usedProfileOf({ owner, settings: { profile }, createdAt: usedAt }: SessionRecord, actor: string): UsedProfile | null {
  if (!profile) return null;
  const { profile_id: profileId, name, save_changes: mayCreate } = profile;
  return { owner, profileId, name, mayCreate, actor, usedAt };
}

function emitEnd(session: LiveSession, reason: EndedReason): void {
  session.events.emitLast('session.ended', { ended_reason: reason, status: statusAfter(reason) });
}

function endedReasonOf({ reason }: MachineLoss): EndedReason {
  if (reason === 'out_of_memory') return reason;
  if (reason === 'unresponsive') return 'browser_unresponsive';
  return reason === 'vm_exited' ? 'vm_lost' : 'browser_crashed';
}

function dueEnd(session: LiveSession): End | null {
  if (session.end.state === 'due') return session.end.end;
  const reason = session.expiryReason();
  return reason && { reason, actor: service };
}

/** Waits for an end in progress first: it fails, and the start continues, when the store is unavailable. */
async function assertStillStarting(session: LiveSession): Promise<void> {
  await session.ending?.catch(() => undefined);
  if (isOver(session.status) || session.isFenced) throw endedDuringStart();
}

const endedDuringStart = (): ServiceError =>
  new ServiceError('session_ended', 'The session ended while it was starting. Create a new one.');
