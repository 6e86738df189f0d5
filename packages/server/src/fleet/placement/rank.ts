/**
 * Which worker should run new work: pure, without I/O, clock or state, so that
 * a simulation runs the same code. One pass over the workers, then the best of
 * a sample, because many placements at once by the same rows would otherwise
 * all fall on the one best worker.
 */

/** What is known of a worker: its last report, and what was reserved since. */
export interface Room {
  workerId: string;
  region: string;
  kinds: readonly string[];
  /** It reports, and its operator lets it take new work. */
  takesWork: boolean;
  sessions: number;
  sessionsMax: number;
  /** Placed on it since its report, which does not count them yet. */
  reserved: number;
  /** How many more machines fit into its memory; null: unknown. */
  machinesLeft: number | null;
  /** Whether it would start another machine. */
  isAdmitting: boolean;
  /** Whether its processors are too busy to start machines quickly. */
  isBusy: boolean;
  /** Idle machines of its pool by kind. */
  warm: Readonly<Record<string, number>>;
}

export interface PlacementRequest {
  region: string;
  kind: string;
  /** Live sessions of the owner by worker. */
  ownerSessions: ReadonlyMap<string, number>;
}

/** Candidates after the first are for a worker that turns out to be full. */
const candidatesMax = 4;
/** More workers than this are sampled. */
const sampleMax = 16;
/** All sessions of an owner on one worker count as much as this share of its room. */
const spreadWeight = 0.2;
/** A worker with fewer free places may be filled by one burst. */
const plentyMin = 16;
/** Busy processors count as much as this share of a worker's room. */
const busyWeight = 0.5;

/**
 * Ids of workers in the order in which to try them: of the region, that run the
 * kind, with room; those with a warm machine first, then by room and by how
 * few sessions of the owner they have. Then those without room, the least loaded first: their rows may
 * count a session twice, and they know better. Empty where no worker serves the region and kind.
 */
export function rankWorkers(rooms: readonly Room[], request: PlacementRequest, random: () => number): string[] {
  const { full, roomy, warm } = classify(rooms, request);
  if (roomy.length > sampleMax) {
    const sampled = new Set([...sample(warm, sampleMax / 2, random), ...sample(roomy, sampleMax, random)]);
    return bestOf([...sampled].slice(0, sampleMax), request, random);
  }
  const best = bestOf(roomy, request, random);
  if (best.length === candidatesMax) return best;
  return [...best, ...bestOf(sample(full, sampleMax, random), request, random)].slice(0, candidatesMax);
}

/** One pass: there may be thousands, for each placement. */
function classify(rooms: readonly Room[], { region, kind }: PlacementRequest): Record<'full' | 'roomy' | 'warm', Room[]> {
  const classes: Record<'full' | 'roomy' | 'warm', Room[]> = { full: [], roomy: [], warm: [] };
  for (const room of rooms) {
    if (!room.takesWork || room.region !== region || !room.kinds.includes(kind)) continue;
    if (!hasRoom(room)) classes.full.push(room);
    else {
      classes.roomy.push(room);
      if (isWarm(room, kind)) classes.warm.push(room);
    }
  }
  return classes;
}

/** Whether one more session fits, as far as its rows say. */
export const hasRoom = (room: Room): boolean => room.isAdmitting && roomLeft(room) > room.reserved;

/** Whether so much is free that a burst does not fill it before the rows are read again: half of all. */
export const hasPlenty = (room: Room): boolean =>
  room.isAdmitting && roomLeft(room) - room.reserved >= Math.max(plentyMin, capacityOf(room) / 2);

const roomLeft = ({ sessions, sessionsMax, machinesLeft }: Room): number => Math.min(sessionsMax - sessions, machinesLeft ?? Infinity);

const capacityOf = (room: Room): number => room.sessions + Math.max(0, roomLeft(room));

/** Sessions that were placed since its report may have taken its warm machines. */
const isWarm = ({ warm, reserved }: Room, kind: string): boolean => (warm[kind] ?? 0) > reserved;

function bestOf(rooms: readonly Room[], request: PlacementRequest, random: () => number): string[] {
  let owned = 1;
  for (const count of request.ownerSessions.values()) owned += count;
  return rooms
    .map((room) => ({ room, isCold: !isWarm(room, request.kind), load: loadOf(room, request, owned), tie: random() }))
    .toSorted((one, other) => Number(one.isCold) - Number(other.isCold) || one.load - other.load || one.tie - other.tie)
    .slice(0, candidatesMax)
    .map(({ room }) => room.workerId);
}

function loadOf(room: Room, { ownerSessions }: PlacementRequest, owned: number): number {
  const capacity = capacityOf(room);
  const used = capacity > 0 ? (room.sessions + room.reserved) / capacity : 1;
  return used + spreadWeight * ((ownerSessions.get(room.workerId) ?? 0) / owned) + (room.isBusy ? busyWeight : 0);
}

/** Some of the rooms, each equally likely; all where there are no more. */
function sample(rooms: readonly Room[], count: number, random: () => number): readonly Room[] {
  if (rooms.length <= count) return rooms;
  const chosen = new Set<number>();
  while (chosen.size < count) chosen.add(Math.min(rooms.length - 1, Math.floor(random() * rooms.length)));
  return [...chosen].flatMap((index) => rooms[index] ?? []);
}
