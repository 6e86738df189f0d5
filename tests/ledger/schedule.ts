/** The concurrent operations of several clients, generated from a seed. */
import type { Random } from './random.ts';

/**
 * Owner roles. The wallets of `paid` and `rival` are enforced, `owing` has a plan
 * with overdraft, `buyer` is known to the payment provider and to the identity
 * provider, `trial` to the identity provider only.
 */
export const roles = ['paid', 'rival', 'owing', 'buyer', 'trial'] as const;
export type OwnerRole = (typeof roles)[number];
export type WalletRole = 'paid' | 'rival' | 'owing';

/** Unique to the schedule. */
export const ownerOf = (schedule: { name: string }, role: OwnerRole): string => `${schedule.name}-${role}`;

/** Amounts are millionths of a credit. Each amount is unique in its schedule, so that a journal entry identifies its task. */
export type Task =
  | { kind: 'grant'; role: WalletRole; amount: number; repeatedAs: 'another' | null; isSentOnce: boolean }
  | { kind: 'make codes'; amount: number; slots: number[] }
  | { kind: 'redeem'; role: WalletRole; slot: number; hasKey: boolean }
  | { kind: 'charge'; role: WalletRole; amount: number; repeatedAs: 'same' | 'another' | null; isSentOnce: boolean }
  | { kind: 'hold'; role: WalletRole; amount: number; ending: 'commit' | 'commit less' | 'release' | 'leave' }
  | { kind: 'race'; role: WalletRole; amount: number; racers: number }
  | { kind: 'session'; role: WalletRole; actions: number; isEnded: boolean; hasKey: boolean }
  | { kind: 'event'; index: number }
  | { kind: 'make promos'; slots: number[] }
  | { kind: 'redeem promo'; slot: number }
  | { kind: 'key'; by: 'operator' | 'login'; isRevoked: boolean }
  | { kind: 'read'; role: WalletRole }
  | { kind: 'flush' };

/** A subscription event of the payment provider. */
export interface BillingEvent {
  id: string;
  type: 'customer.subscription.created' | 'customer.subscription.updated' | 'customer.subscription.deleted' | 'customer.updated';
  /** Unix seconds, unique in the schedule. */
  created: number;
  tier: 'pro' | 'team';
}

export interface Client {
  tasks: Task[];
  /** How long the client waits for a response; null waits forever. The request continues in the service. */
  timeoutMs: number | null;
}

export interface Schedule {
  name: string;
  clients: Client[];
  events: BillingEvent[];
}

const credit = 1_000_000;
/** Unix seconds. */
const firstEvent = 1_750_000_000;
const eventTypes: Record<BillingEvent['type'], number> = {
  'customer.subscription.created': 2,
  'customer.subscription.updated': 5,
  'customer.subscription.deleted': 2,
  'customer.updated': 1,
};
const kinds = { grant: 6, redeem: 4, charge: 5, hold: 4, race: 1, session: 3, key: 1, read: 2, flush: 1 } as const;
export const wallets: readonly WalletRole[] = ['paid', 'rival', 'owing'];

export const walletsOf = (schedule: { name: string }): string[] => wallets.map((role) => ownerOf(schedule, role));

export function createSchedule(name: string, random: Random): Schedule {
  return new ScheduleBuilder(name, random).build();
}

class ScheduleBuilder {
  readonly #name: string;
  readonly #random: Random;
  #serial = 0;
  #codes = 0;
  #promos = 0;

  constructor(name: string, random: Random) {
    this.#name = name;
    this.#random = random;
  }

  build(): Schedule {
    const random = this.#random;
    const events = this.#events();
    const deliveries = random.shuffled(
      events.flatMap((_, index): Task[] => Array.from({ length: random.integer(1, 3) }, () => ({ kind: 'event', index }))),
    );
    // Codes are created before any client waits for one.
    const openings = [this.#opening(), this.#opening(), [], []];
    const clients = openings.map((opening): Client => {
      const tasks = Array.from({ length: random.integer(6, 10) }, () => this.#task());
      return { tasks: opening.concat(tasks), timeoutMs: random.chance(0.3) ? random.integer(30, 400) : null };
    });
    for (const delivery of deliveries.concat(this.#promoTasks())) {
      const { tasks } = random.pick(clients);
      tasks.splice(random.integer(Math.min(4, tasks.length), tasks.length), 0, delivery);
    }
    return { name: this.#name, clients, events };
  }

  #events(): BillingEvent[] {
    let created = firstEvent;
    return Array.from({ length: this.#random.integer(3, 7) }, (_, index) => {
      created += this.#random.integer(1, 5000);
      return {
        id: `evt_${this.#name.replaceAll('-', '')}x${index}`,
        type: this.#random.weighted(eventTypes),
        created,
        tier: this.#random.pick(['pro', 'team']),
      };
    });
  }

  #opening(): Task[] {
    const random = this.#random;
    const codes = Array.from({ length: random.integer(1, 3) }, () => this.#codes++);
    const promos = Array.from({ length: random.integer(0, 2) }, () => this.#promos++);
    return [
      { kind: 'make codes', amount: this.#amount(random.integer(1, 5) * credit), slots: codes },
      ...(promos.length > 0 ? [{ kind: 'make promos', slots: promos } as const] : []),
      {
        kind: 'grant',
        role: random.pick(wallets),
        amount: this.#amount(random.integer(1, 12) * credit),
        repeatedAs: null,
        isSentOnce: false,
      },
    ];
  }

  #task(): Task {
    const random = this.#random;
    const role = random.pick(wallets);
    const kind = random.weighted(kinds);
    switch (kind) {
      case 'grant':
        return {
          kind: kind,
          role,
          amount: this.#amount(random.integer(1, 40) * (credit / 4)),
          repeatedAs: random.chance(0.2) ? 'another' : null,
          isSentOnce: random.chance(0.2),
        };
      case 'redeem':
        return { kind: kind, role, slot: random.integer(0, this.#codes - 1), hasKey: random.chance(0.5) };
      case 'charge': {
        const repeatedAs = random.pick(['same', 'another', null, null] as const);
        return { kind: kind, role, amount: this.#amount(random.integer(1, 300) * 10_000), repeatedAs, isSentOnce: random.chance(0.15) };
      }
      case 'hold':
        return {
          kind: kind,
          role,
          amount: this.#amount(random.integer(1, 300) * 10_000),
          ending: random.pick(['commit', 'commit', 'commit less', 'release', 'leave']),
        };
      case 'race':
        return { kind: kind, role, amount: this.#amount(random.integer(20, 200) * 10_000), racers: random.integer(5, 15) };
      case 'session':
        return { kind: kind, role, actions: random.integer(0, 4), isEnded: random.chance(0.7), hasKey: random.chance(0.5) };
      case 'key':
        return { kind: kind, by: random.pick(['operator', 'login']), isRevoked: random.chance(0.6) };
      case 'read':
        return { kind: kind, role };
      case 'flush':
        return { kind: kind };
    }
  }

  #promoTasks(): Task[] {
    return Array.from({ length: this.#promos }, (_, slot): Task[] =>
      Array.from({ length: this.#random.integer(1, 3) }, () => ({ kind: 'redeem promo', slot })),
    ).flat();
  }

  /** Never a multiple of 1000, unlike the service's own charges. */
  #amount(base: number): number {
    this.#serial += 1;
    return base + this.#serial;
  }
}

/** Estimates the number of requests, which determines when a run is killed. */
export function requestsIn({ clients }: Schedule): number {
  const weight = (task: Task): number => {
    if (task.kind === 'race') return task.racers;
    if (task.kind === 'session') return 2 + task.actions;
    return task.kind === 'hold' || task.kind === 'key' ? 2.5 : 1.2;
  };
  return clients.flatMap(({ tasks }) => tasks).reduce((sum, task) => sum + weight(task), 3);
}
