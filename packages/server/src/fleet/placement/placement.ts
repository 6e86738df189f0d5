/** Decides where in the fleet new work runs. */
import { ServiceError, type WorkerState } from '@berth/contract';
import type { Clock } from '@berth/lib/clock.ts';
import type { Log } from '@berth/lib/log.ts';
import { Loop } from '@berth/lib/loop.ts';
import { silentSecondsMax, type Fleet } from '../pool/pool.ts';
import type { Store } from '../../store/store.ts';
import { hasPlenty, hasRoom, rankWorkers, type Room } from './rank.ts';
import { CachedRead } from './cached-read.ts';
import { addReserved, findWorker, listRooms, reserveRoom } from './store.ts';

export { Workers } from './workers.ts';
export { rankWorkers, hasRoom, type PlacementRequest, type Room } from './rank.ts';

export interface PlacementDeps {
  store: Store;
  clock: Clock;
  log: Log;
  fleet: Pick<Fleet, 'lastHeartbeat'>;
  workerId: string;
  /** Region of this worker. */
  region: string;
  /** Whether the service has a region of this code. */
  isRegion: (code: string) => boolean;
  /** The only worker that takes new work of an owner; null: any. */
  pinOf: (owner: string) => Promise<string | null>;
  /** Live sessions of an owner by worker. */
  sessionsByWorker: (owner: string) => Promise<ReadonlyMap<string, number>>;
  /** Returns a number from 0 to 1. Default: `Math.random`. */
  random?: () => number;
}

/** New work. */
export interface PlacementOf {
  /** `fetch`: work in a machine that the owner's fetches share, which stays where it arrives as long as there is room. */
  work: 'session' | 'fetch';
  owner: string;
  kind: string;
  /** Undefined: that of the worker that is asked. */
  region: string | undefined;
}

/** Workers that may run new work. */
export interface Candidates {
  /** Ids in the order in which to try them; this worker's own id means: here. */
  workerIds: readonly string[];
  /** No other worker may take their place. */
  isPinned: boolean;
}

/** How long what was read is used again; what this worker places meanwhile is added. */
const rereadMs = 1000;
const regionsMax = 1000;
const ownersMax = 10_000;
/** Reservations that nothing waits for are stored together after this time: the other workers' rows are older than that. */
const storeMs = 100;

/** Rooms and sessions that a choice is made by. */
interface View {
  rooms: Room[];
  /** Live sessions of the owner by worker; empty for work that is no session. */
  ownerSessions: Map<string, number>;
}

export class Placement {
  readonly #deps: PlacementDeps;
  /** Room of the workers of each region. */
  readonly #rooms: CachedRead<Room[]>;
  /** Sessions by worker, for each owner. */
  readonly #ownerSessions: CachedRead<Map<string, number>>;
  /** Sessions by worker that no row counts yet. */
  readonly #unstored = new Map<string, number>();
  readonly reservations: Loop;

  constructor(deps: PlacementDeps) {
    const { clock, sessionsByWorker } = deps;
    this.#deps = deps;
    const recently = { clock, forMs: rereadMs };
    this.#rooms = new CachedRead({ ...recently, max: regionsMax, read: (region) => this.#readRooms(region) });
    this.#ownerSessions = new CachedRead({ ...recently, max: ownersMax, read: async (owner) => new Map(await sessionsByWorker(owner)) });
    this.reservations = new Loop('reservations', storeMs, () => this.#storeReservations());
  }

  /**
   * For a session, room is reserved on the first; where it has plenty, soon after: if it is full all the same, it says
   * so, and the next one is asked. Only this worker's own id where it is alone, where no worker of the region lives,
   * and where the database is unavailable: its own checks know the reason and say it to the caller. For a pinned owner
   * only the worker that it is pinned to, whatever the region: that worker serves it by proxies, or says that it cannot.
   * @throws ServiceError no_capacity, draining, store_unavailable for a pinned owner
   */
  async candidates(work: PlacementOf): Promise<Candidates> {
    const { pinOf, workerId, fleet, isRegion } = this.#deps;
    const region = work.region ?? this.#deps.region;
    // Read beside the pin, which few owners have.
    const view = fleet.lastHeartbeat.hasPeers && isRegion(region) ? this.#view(work, region) : null;
    view?.catch(() => undefined);
    const pinned = await pinOf(work.owner);
    if (pinned !== null) return { workerIds: [await this.#placePinned(work, pinned)], isPinned: true };
    return { workerIds: view ? await this.#placeAnywhere({ ...work, region }, view) : [workerId], isPinned: false };
  }

  async #placeAnywhere(work: PlacementOf & { region: string }, view: Promise<View>): Promise<string[]> {
    const { workerId, log } = this.#deps;
    try {
      const ids = await this.#place(work, await view);
      return ids.length > 0 ? ids : [workerId];
    } catch (err) {
      log.warn({ err }, 'placement failed, the work stays on this worker');
      return [workerId];
    }
  }

  /** A worker that is full by its row is asked all the same: it knows better, and its own refusal is the answer. */
  async #placePinned({ work, owner }: PlacementOf, pinned: string): Promise<string> {
    const { workerId, store, fleet } = this.#deps;
    if (pinned === workerId) {
      if (fleet.lastHeartbeat.state !== 'active') throw pinnedAndRefused(owner, fleet.lastHeartbeat.state);
      return workerId;
    }
    const worker = await findWorker(store, pinned, silentSecondsMax);
    if (!worker?.isAlive || !worker.hasListener) throw pinnedAndRefused(owner, 'away');
    if (worker.state !== 'active') throw pinnedAndRefused(owner, worker.state);
    if (work === 'session') await reserveRoom(store, [pinned], { silentSeconds: silentSecondsMax, wait: true });
    return pinned;
  }

  async #place({ work, kind, region }: PlacementOf & { region: string }, view: View): Promise<string[]> {
    const { workerId, random = Math.random } = this.#deps;
    const isSession = work === 'session';
    const here = view.rooms.find((room) => room.workerId === workerId);
    if (!isSession && here && hasRoom(here)) return [workerId];
    const ranked = rankWorkers(view.rooms, { region, kind, ownerSessions: view.ownerSessions }, random);
    if (!isSession) return ranked;
    const expected = view.rooms.find((room) => room.workerId === ranked[0]);
    if (expected && hasPlenty(expected)) {
      count(view, expected.workerId, 1);
      this.#addUnstored(expected.workerId, 1);
      return ranked;
    }
    const first = await this.#reserve(view, expected, ranked);
    return first === undefined ? ranked : [first, ...ranked.filter((id) => id !== first)];
  }

  /** What fails is forgotten: it would be two heartbeats later. One row at a time, so that two workers never wait for each other. */
  async #storeReservations(): Promise<void> {
    const unstored = [...this.#unstored];
    try {
      for (const [workerId, count] of unstored) await addReserved(this.#deps.store, workerId, count);
    } finally {
      for (const [workerId, count] of unstored) this.#addUnstored(workerId, -count);
    }
  }

  #addUnstored(workerId: string, sessions: number): void {
    const unstored = (this.#unstored.get(workerId) ?? 0) + sessions;
    if (unstored > 0) this.#unstored.set(workerId, unstored);
    else this.#unstored.delete(workerId);
  }

  /** Rows that were read while reservations are being stored may have them twice: a worker looks fuller than it is, never emptier. */
  async #readRooms(region: string): Promise<Room[]> {
    const rooms = await listRooms(this.#deps.store, region, silentSecondsMax);
    return rooms.map((room) => ({ ...room, reserved: room.reserved + (this.#unstored.get(room.workerId) ?? 0) }));
  }

  /** Undefined: none has room by now. They are tried all the same. */
  async #reserve(view: View, expected: Room | undefined, ranked: readonly string[]): Promise<string | undefined> {
    if (!expected || !hasRoom(expected)) return undefined;
    // Must precede the statement, so that the next one of a burst sees it.
    count(view, expected.workerId, 1);
    const first = await this.#reserveFirst(ranked);
    if (first === expected.workerId) return first;
    count(view, expected.workerId, -1);
    if (first !== undefined) count(view, first, 1);
    return first;
  }

  /** Waits for rows that others are reserving in only where all are: for one at a time, so that nobody waits in a circle. */
  async #reserveFirst(ranked: readonly string[]): Promise<string | undefined> {
    const { store } = this.#deps;
    let first = await reserveRoom(store, ranked, { silentSeconds: silentSecondsMax, wait: false });
    for (const id of ranked) first ??= await reserveRoom(store, [id], { silentSeconds: silentSecondsMax, wait: true });
    return first;
  }

  async #view({ work, owner }: PlacementOf, region: string): Promise<View> {
    const ownerSessions = work === 'session' ? this.#ownerSessions.get(owner) : new Map<string, number>();
    const [rooms, sessions] = await Promise.all([this.#rooms.get(region), ownerSessions]);
    return { rooms, ownerSessions: sessions };
  }
}

/** Counts sessions until the rows are read again. */
function count({ rooms, ownerSessions }: View, workerId: string, sessions: 1 | -1): void {
  const room = rooms.find((each) => each.workerId === workerId);
  if (room) room.reserved += sessions;
  ownerSessions.set(workerId, (ownerSessions.get(workerId) ?? 0) + sessions);
}

/** A start takes seconds, an operator longer. */
const retryAfterSeconds = 5;

/** Nothing else takes its place: what an owner is pinned for, such as an address or a host of its own, is only there. */
function pinnedAndRefused(owner: string, state: Exclude<WorkerState, 'active'> | 'away'): ServiceError {
  const rest = `The operator can unpin the owner: \`POST /admin/owners/${owner}/unpin\`.`;
  const only = 'New work of this owner runs on one worker only, to which it is pinned';
  if (state === 'away') return new ServiceError('no_capacity', `${only}, and that one does not run now. ${rest}`, { retryAfterSeconds });
  const what = state === 'cordoned' ? 'is cordoned' : 'drains';
  return new ServiceError('draining', `${only}, and that one ${what}. ${rest}`, { retryAfterSeconds });
}
