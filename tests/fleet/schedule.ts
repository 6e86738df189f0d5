/** The actions of one owner's clients, generated from a seed. */
import type { Random } from '../ledger/random.ts';

export type Task =
  /** Creates a session, acts in it and ends or leaves it. */
  | { kind: 'session'; name: string | null; actions: number; isEnded: boolean }
  /** Acts in a session of any client of the schedule. */
  | { kind: 'visit'; actions: number }
  /** Reads sessions of all clients of the schedule. */
  | { kind: 'watch'; reads: number }
  | { kind: 'job'; isCancelled: boolean }
  | { kind: 'key'; isRevoked: boolean }
  | { kind: 'grant'; amount: number };

export interface Client {
  tasks: Task[];
  /** How long it waits for an answer. */
  timeoutMs: number;
  random: Random;
}

export interface Schedule {
  name: string;
  owner: string;
  clients: Client[];
}

/** Maximum sessions of each owner at once. */
export const sessionsMax = 2;
const kinds = { session: 5, visit: 2, watch: 4, job: 2, key: 1, grant: 2 } as const;
const credit = 1_000_000;

/** The first grant pays for everything that the schedule can do. */
export const firstGrant = 1000 * credit;

export function createSchedule(name: string, random: Random): Schedule {
  let grants = 0;
  const task = (): Task => {
    const kind = random.weighted(kinds);
    switch (kind) {
      case 'session':
        return { kind, name: random.pick([null, 'one', 'two']), actions: random.integer(1, 6), isEnded: random.chance(0.7) };
      case 'visit':
        return { kind, actions: random.integer(1, 3) };
      case 'watch':
        return { kind, reads: random.integer(2, 5) };
      case 'job':
        return { kind, isCancelled: random.chance(0.25) };
      case 'key':
        return { kind, isRevoked: random.chance(0.6) };
      case 'grant':
        // Unique in the schedule, so that the journal's entry identifies its task.
        return { kind, amount: random.integer(1, 10) * credit + (grants += 1) };
    }
  };
  const clients = Array.from({ length: 3 }, (): Client => {
    const tasks = Array.from({ length: random.integer(5, 8) }, task);
    // Some wait long enough to be answered by a worker that was frozen.
    const timeoutMs = random.chance(0.2) ? 15_000 : random.integer(800, 3000);
    return { tasks, timeoutMs, random: random.split() };
  });
  return { name, owner: `${name}-owner`, clients };
}
