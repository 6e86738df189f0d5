/**
 * A fleet in simulated time. Placement ranks workers by its real code, and leases are watched by theirs; what the
 * database and the hosts do is modelled: a row changes at once, and a machine boots in a second and a half.
 */
import { LeaseView, leaseTiming, watchedMax } from '../../packages/server/testing/pool.ts';
import { hasPlenty, hasRoom, rankWorkers, type Room } from '../../packages/server/testing/placement.ts';
import { Events } from './events.ts';
import { seeded } from '@berth/lib/testing/seeded.ts';

export interface FleetSize {
  workers: number;
  sessions: number;
  seed: number;
}

export interface SimulationResult {
  /** Durations of the real ranking, on this machine’s processor. */
  rankMs: number[];
  /** Times from a create’s arrival until its session is ready, without the time of statements. */
  readyMs: number[];
  /** Creates that no worker took, and those of owners who had as many sessions as they may, of all. */
  refused: number;
  limited: number;
  created: number;
  /** The most that an owner had, as a share of the limit. */
  ownerLoad: number;
  /** Sessions of each worker when the fleet is steady. */
  loads: number[];
  /** Rates in the second half of the steady minute. */
  perSecond: { heartbeats: number; roomReads: number; creates: number };
  /** Times after a tenth of the workers is lost: until their lease is taken, and until their sessions are replaced. */
  noticedMs: number[];
  replacedMs: number[];
}

interface Host {
  room: Room;
  /** What its last heartbeat but one reserved. */
  reservedBefore: number;
  sessions: number;
  warm: number;
  booting: number;
  waiting: (() => void)[];
  isAlive: boolean;
  lease: LeaseView;
  beats: number;
  /** Its row is among those that placement reads. */
  isListed: boolean;
}

interface View {
  rooms: readonly Room[];
  readMs: number;
  /** Workers that were reserved since the rows were read, and are not yet counted in `rooms`. */
  reserved: string[];
}

const kind = 'headless';
const region = 'home';
const sessionsMax = 60;
const warmTarget = 2;
const bootMs = 1500;
const bootsAtOnce = 4;
const warmMs = 20;
const lifeMs = 600_000;
const owners = 10_000;
const timing = leaseTiming(8000);
/** How long a worker uses the rows that it has read. */
const viewMs = 1000;
const rowsMs = 25;
/** An owner's starting and ready sessions, as a plan may limit them: ten times what the mean owner has. */
const limitOf = ({ sessions }: FleetSize): number => Math.max(10, Math.ceil((10 * sessions) / owners));
const filledFrom = 64;
const fillMs = 60_000;
const steadyMs = 60_000;
const recoveryMs = 40_000;

export function simulate(size: FleetSize): SimulationResult {
  return new Simulation(size).run();
}

class Simulation {
  readonly #size: FleetSize;
  readonly #events = new Events();
  readonly #random: () => number;
  readonly #hosts: Host[];
  readonly #byId: Map<string, Host>;
  /** Hosts by id, as the statement of a heartbeat orders them. */
  readonly #ordered: { hosts: readonly Host[]; indexes: ReadonlyMap<Host, number> };
  readonly #views = new Map<Host, View>();
  /** Sessions of each owner by worker: the rows of its sessions. Those of a lost worker count until its lease is taken. */
  readonly #owned = new Map<number, Map<string, number>>();
  readonly #limit: number;
  #lostMs = -Infinity;
  readonly #result: SimulationResult;
  readonly #counts = { heartbeats: 0, roomReads: 0, creates: 0 };
  #isFilled = false;
  #isSteady = false;
  #isWatching = false;
  /** The rows as they were a moment ago: one copy for all who read them. */
  #rows: Pick<View, 'rooms' | 'readMs'> = { rooms: [], readMs: -Infinity };

  constructor(size: FleetSize) {
    this.#size = size;
    this.#random = seeded(size.seed);
    this.#limit = limitOf(size);
    this.#hosts = Array.from({ length: size.workers }, (_, index) => newHost(`wrk_${index}`));
    this.#byId = new Map(this.#hosts.map((host) => [host.room.workerId, host]));
    const hosts = this.#hosts.toSorted((a, b) => (a.room.workerId < b.room.workerId ? -1 : 1));
    this.#ordered = { hosts, indexes: new Map(hosts.map((host, index) => [host, index])) };
    const perSecond = { heartbeats: 0, roomReads: 0, creates: 0 };
    const counts = { refused: 0, limited: 0, created: 0, ownerLoad: 0 };
    this.#result = { rankMs: [], readyMs: [], ...counts, loads: [], perSecond, noticedMs: [], replacedMs: [] };
  }

  run(): SimulationResult {
    const { sessions } = this.#size;
    for (const host of this.#hosts) this.#events.after(this.#random() * timing.heartbeatMs, () => this.#beat(host));
    for (let index = 0; index < sessions; index += 1) this.#events.after(this.#random() * fillMs, () => this.#create());
    this.#events.runUntil(fillMs);
    this.#isFilled = true;
    this.#arrive();
    this.#events.runUntil(fillMs + steadyMs / 2);
    this.#isSteady = true;
    this.#isWatching = true;
    const before = { ...this.#counts };
    this.#events.runUntil(fillMs + steadyMs);
    const seconds = steadyMs / 2000;
    for (const name of ['heartbeats', 'roomReads', 'creates'] as const)
      this.#result.perSecond[name] = (this.#counts[name] - before[name]) / seconds;
    this.#result.loads = this.#hosts.map((host) => host.sessions);
    this.#isSteady = false;
    this.#loseTenth();
    this.#events.runUntil(fillMs + steadyMs + recoveryMs);
    return this.#result;
  }

  /** Creates as many sessions as end, so that their number stays. */
  #arrive(): void {
    this.#create();
    this.#events.after((-Math.log(1 - this.#random()) * lifeMs) / this.#size.sessions, () => this.#arrive());
  }

  #create(onReady: () => void = () => undefined): void {
    const startMs = this.#events.nowMs;
    const owner = Math.floor(this.#random() ** 2 * owners);
    const ownerSessions = this.#owned.get(owner) ?? new Map<string, number>();
    this.#owned.set(owner, ownerSessions);
    this.#counts.creates += 1;
    this.#result.created += 1;
    const owned = [...ownerSessions.values()].reduce((sum, count) => sum + count, 0);
    this.#result.ownerLoad = Math.max(this.#result.ownerLoad, owned / this.#limit);
    // Counted in rows, under a lock of the owner: creates of one owner are one after another.
    if (owned >= this.#limit) return void (this.#result.limited += 1);
    const view = this.#view();
    const rankedMs = performance.now();
    const ranked = rankWorkers(this.#isFilled ? view.rooms : this.#someOf(view.rooms), { region, kind, ownerSessions }, this.#random);
    const isMeasured = this.#isSteady;
    if (isMeasured) this.#result.rankMs.push(performance.now() - rankedMs);
    const candidates = this.#reserve(view, ranked);
    const host = candidates.map((id) => this.#byId.get(id)!).find((one) => one.isAlive && one.sessions + one.booting < sessionsMax);
    if (!host) return void (this.#result.refused += 1);
    const { workerId } = host.room;
    ownerSessions.set(workerId, (ownerSessions.get(workerId) ?? 0) + 1);
    this.#acquire(host, () => {
      if (isMeasured) this.#result.readyMs.push(this.#events.nowMs - startMs);
      onReady();
      this.#events.after(-Math.log(1 - this.#random()) * lifeMs, () => {
        if (!host.isAlive) return;
        host.sessions -= 1;
        ownerSessions.set(workerId, (ownerSessions.get(workerId) ?? 1) - 1);
      });
    });
  }

  /** Any worker may be asked. It adds what it has reserved to the rows that it read. */
  #view(): View {
    let host = this.#hosts[Math.floor(this.#random() * this.#hosts.length)]!;
    while (!host.isAlive) host = this.#hosts[Math.floor(this.#random() * this.#hosts.length)]!;
    const known = this.#views.get(host);
    const { nowMs } = this.#events;
    if (known && nowMs - known.readMs < viewMs) {
      const own = known.reserved.splice(0);
      const add = (room: Room): Room => ({ ...room, reserved: room.reserved + own.filter((id) => id === room.workerId).length });
      if (own.length > 0) known.rooms = known.rooms.map((room) => (own.includes(room.workerId) ? add(room) : room));
      return known;
    }
    this.#counts.roomReads += 1;
    if (nowMs - this.#rows.readMs > rowsMs)
      this.#rows = { rooms: this.#hosts.filter(({ isListed }) => isListed).map(({ room }) => room), readMs: nowMs };
    const view = { rooms: this.#rows.rooms, readMs: nowMs, reserved: [] };
    this.#views.set(host, view);
    return view;
  }

  /** The ranking samples many workers anyway: while the fleet is filled it gets a sample. */
  #someOf(rooms: readonly Room[]): readonly Room[] {
    if (rooms.length <= filledFrom) return rooms;
    return Array.from({ length: filledFrom }, () => rooms[Math.floor(this.#random() * rooms.length)]!);
  }

  /** Reserves as the statement does: by the rows as they are now, or without reading them where there is plenty of room. */
  #reserve(view: View, ranked: string[]): string[] {
    const expected = view.rooms.find(({ workerId }) => workerId === ranked[0]);
    const first = expected && hasPlenty(expected) ? ranked[0] : ranked.find((id) => hasRoom(this.#byId.get(id)!.room));
    if (first === undefined) return ranked;
    const host = this.#byId.get(first)!;
    host.room = { ...host.room, reserved: host.room.reserved + 1 };
    view.reserved.push(first);
    return [first, ...ranked.filter((id) => id !== first)];
  }

  /** The longest idle warm machine, or one that is booted in turn. */
  #acquire(host: Host, onReady: () => void): void {
    host.sessions += 1;
    const isWarm = host.warm > 0;
    if (isWarm) host.warm -= 1;
    if (isWarm) this.#events.after(warmMs, () => host.isAlive && onReady());
    else host.waiting.push(onReady);
    this.#boot(host);
  }

  #boot(host: Host): void {
    while (host.isAlive && host.booting < bootsAtOnce && host.waiting.length + warmTarget - host.warm > host.booting) {
      host.booting += 1;
      this.#events.after(bootMs, () => {
        host.booting -= 1;
        const onReady = host.waiting.shift();
        if (onReady && host.isAlive) onReady();
        else host.warm += 1;
        this.#boot(host);
      });
    }
  }

  /** Reservations last until the next heartbeat but one. */
  #beat(host: Host): void {
    if (!host.isAlive) return;
    this.#counts.heartbeats += 1;
    host.beats += 1;
    const reservedNow = host.room.reserved - host.reservedBefore;
    host.reservedBefore = reservedNow;
    host.room = { ...host.room, sessions: host.sessions, reserved: reservedNow, warm: { [kind]: host.warm } };
    if (this.#isWatching) this.#observe(host);
    this.#events.after(timing.heartbeatMs, () => this.#beat(host));
  }

  /** A random tenth of the workers dies at once. Their clients create new sessions when the lease is taken. */
  #loseTenth(): void {
    this.#lostMs = this.#events.nowMs;
    const left = [...this.#hosts];
    for (let count = Math.ceil(left.length / 10); count > 0; count -= 1)
      for (const host of left.splice(Math.floor(this.#random() * left.length), 1)) host.isAlive = false;
  }

  /** Reads the heartbeats of the workers that a worker watches, with each of its own. Another may have been faster. */
  #observe(host: Host): void {
    const { nowMs } = this.#events;
    const leases = this.#watchedBy(host).map(({ room, beats }) => ({
      ...{ workerId: room.workerId, epoch: 1, beat: String(beats), leaseMs: timing.leaseMs },
    }));
    for (const { workerId } of host.lease.observe(leases, { askedMs: nowMs, answeredMs: nowMs })) this.#take(this.#byId.get(workerId)!);
  }

  /** The workers that one watches, as the statement reads them: the next live ones by id, and after the last the first. */
  #watchedBy(host: Host): Host[] {
    const { hosts, indexes } = this.#ordered;
    const own = indexes.get(host)!;
    const watched: Host[] = [];
    for (let step = 1; step < hosts.length && watched.length < watchedMax; step += 1) {
      const other = hosts[(own + step) % hosts.length]!;
      if (other.isListed) watched.push(other);
    }
    return watched;
  }

  #take(host: Host): void {
    if (!host.isListed) return;
    host.isListed = false;
    this.#result.noticedMs.push(this.#events.nowMs - this.#lostMs);
    for (const owned of this.#owned.values()) owned.delete(host.room.workerId);
    const replaced = (): void => void this.#result.replacedMs.push(this.#events.nowMs - this.#lostMs);
    for (let index = 0; index < host.sessions; index += 1) this.#create(replaced);
  }
}

function newHost(workerId: string): Host {
  const warm = { [kind]: warmTarget };
  const rows = { sessions: 0, sessionsMax, reserved: 0, machinesLeft: null, isAdmitting: true, isBusy: false, warm };
  const room: Room = { workerId, region, kinds: [kind], takesWork: true, ...rows };
  return {
    room,
    reservedBefore: 0,
    sessions: 0,
    warm: warmTarget,
    booting: 0,
    waiting: [],
    isAlive: true,
    beats: 0,
    isListed: true,
    lease: new LeaseView(timing.gapMsMax),
  };
}
