/** What several clients of one service do at the same time, chosen by a seed. */
import type { Dice } from './dice.ts';

/**
 * Whose money it is. `paid` and `rival` have wallets that are enforced, `owing`
 * has a plan that may go below zero, `buyer` is known to the payment provider
 * and to the identity provider, `trial` to the latter alone.
 */
export const parts = ['paid', 'rival', 'owing', 'buyer', 'trial'] as const;
export type Part = (typeof parts)[number];
export type Wallet = 'paid' | 'rival' | 'owing';

/** Owners of one schedule are in no other. */
export const ownerOf = (schedule: { name: string }, part: Part): string => `${schedule.name}-${part}`;

/** Amounts are millionths of a credit. An amount of one schedule is in no other place of it, so that the journal tells whose it is. */
export type Task =
  | { do: 'grant'; part: Wallet; amount: number; isRepeatedAs: 'another' | null; isAbandoned: boolean }
  | { do: 'make codes'; amount: number; slots: number[] }
  | { do: 'redeem'; part: Wallet; slot: number; hasKey: boolean }
  | { do: 'charge'; part: Wallet; amount: number; isRepeatedAs: 'same' | 'another' | null; isAbandoned: boolean }
  | { do: 'hold'; part: Wallet; amount: number; ending: 'commit' | 'commit less' | 'release' | 'leave' }
  | { do: 'race'; part: Wallet; amount: number; racers: number }
  | { do: 'session'; part: Wallet; actions: number; isEnded: boolean; hasKey: boolean }
  | { do: 'event'; index: number }
  | { do: 'make promos'; slots: number[] }
  | { do: 'redeem promo'; slot: number }
  | { do: 'key'; by: 'operator' | 'login'; isRevoked: boolean }
  | { do: 'read'; part: Wallet }
  | { do: 'flush' };

/** What the payment provider says of a subscription. */
export interface BillingEvent {
  id: string;
  type: 'customer.subscription.created' | 'customer.subscription.updated' | 'customer.subscription.deleted' | 'customer.updated';
  /** Seconds since 1970: no two of a schedule are of the same one. */
  created: number;
  tier: 'pro' | 'team';
}

export interface Client {
  tasks: Task[];
  /** Gives up waiting for an answer after so long; the request goes on without it. */
  patienceMs: number | null;
}

export interface Schedule {
  name: string;
  clients: Client[];
  events: BillingEvent[];
}

const credit = 1_000_000;
/** Seconds since 1970. */
const firstEvent = 1_750_000_000;
const eventTypes: Record<BillingEvent['type'], number> = {
  'customer.subscription.created': 2,
  'customer.subscription.updated': 5,
  'customer.subscription.deleted': 2,
  'customer.updated': 1,
};
const kinds = { grant: 6, redeem: 4, charge: 5, hold: 4, race: 1, session: 3, key: 1, read: 2, flush: 1 } as const;
export const wallets: readonly Wallet[] = ['paid', 'rival', 'owing'];

/** The owners that have wallets. */
export const walletsOf = (schedule: { name: string }): string[] => wallets.map((part) => ownerOf(schedule, part));

export function makeSchedule(name: string, seed: Dice): Schedule {
  return new Maker(name, seed).make();
}

class Maker {
  readonly #name: string;
  readonly #dice: Dice;
  #serial = 0;
  #codes = 0;
  #promos = 0;

  constructor(name: string, dice: Dice) {
    this.#name = name;
    this.#dice = dice;
  }

  make(): Schedule {
    const dice = this.#dice;
    const events = this.#events();
    const deliveries = dice.shuffled(
      events.flatMap((_, index): Task[] => Array.from({ length: dice.whole(1, 3) }, () => ({ do: 'event', index }))),
    );
    // What others wait for is made before anybody waits for anything.
    const openings = [this.#opening(), this.#opening(), [], []];
    const clients = openings.map((opening): Client => {
      const own = Array.from({ length: dice.whole(6, 10) }, () => this.#task());
      return { tasks: opening.concat(own), patienceMs: dice.chance(0.3) ? dice.whole(30, 400) : null };
    });
    for (const delivery of deliveries.concat(this.#promoTasks())) {
      const { tasks } = dice.pick(clients);
      tasks.splice(dice.whole(Math.min(4, tasks.length), tasks.length), 0, delivery);
    }
    return { name: this.#name, clients, events };
  }

  #events(): BillingEvent[] {
    let created = firstEvent;
    return Array.from({ length: this.#dice.whole(3, 7) }, (_, index) => {
      created += this.#dice.whole(1, 5000);
      return {
        id: `evt_${this.#name.replaceAll('-', '')}x${index}`,
        type: this.#dice.weighted(eventTypes),
        created,
        tier: this.#dice.pick(['pro', 'team']),
      };
    });
  }

  #opening(): Task[] {
    const dice = this.#dice;
    const codes = Array.from({ length: dice.whole(1, 3) }, () => this.#codes++);
    const promos = Array.from({ length: dice.whole(0, 2) }, () => this.#promos++);
    return [
      { do: 'make codes', amount: this.#amount(dice.whole(1, 5) * credit), slots: codes },
      ...(promos.length > 0 ? [{ do: 'make promos', slots: promos } as const] : []),
      { do: 'grant', part: dice.pick(wallets), amount: this.#amount(dice.whole(1, 12) * credit), isRepeatedAs: null, isAbandoned: false },
    ];
  }

  #task(): Task {
    const dice = this.#dice;
    const part = dice.pick(wallets);
    const kind = dice.weighted(kinds);
    switch (kind) {
      case 'grant':
        return {
          do: kind,
          part,
          amount: this.#amount(dice.whole(1, 40) * (credit / 4)),
          isRepeatedAs: dice.chance(0.2) ? 'another' : null,
          isAbandoned: dice.chance(0.2),
        };
      case 'redeem':
        return { do: kind, part, slot: dice.whole(0, this.#codes - 1), hasKey: dice.chance(0.5) };
      case 'charge': {
        const isRepeatedAs = dice.pick(['same', 'another', null, null] as const);
        return { do: kind, part, amount: this.#amount(dice.whole(1, 300) * 10_000), isRepeatedAs, isAbandoned: dice.chance(0.15) };
      }
      case 'hold':
        return {
          do: kind,
          part,
          amount: this.#amount(dice.whole(1, 300) * 10_000),
          ending: dice.pick(['commit', 'commit', 'commit less', 'release', 'leave']),
        };
      case 'race':
        return { do: kind, part, amount: this.#amount(dice.whole(20, 200) * 10_000), racers: dice.whole(5, 15) };
      case 'session':
        return { do: kind, part, actions: dice.whole(0, 4), isEnded: dice.chance(0.7), hasKey: dice.chance(0.5) };
      case 'key':
        return { do: kind, by: dice.pick(['operator', 'login']), isRevoked: dice.chance(0.6) };
      case 'read':
        return { do: kind, part };
      case 'flush':
        return { do: kind };
    }
  }

  #promoTasks(): Task[] {
    return Array.from({ length: this.#promos }, (_, slot): Task[] =>
      Array.from({ length: this.#dice.whole(1, 3) }, () => ({ do: 'redeem promo', slot })),
    ).flat();
  }

  /** No whole number of thousandths, as what the service charges by itself is. */
  #amount(roughly: number): number {
    this.#serial += 1;
    return roughly + this.#serial;
  }
}

/** How often the service is asked something, roughly: what the moment of a kill is chosen by. */
export function requestsIn({ clients }: Schedule): number {
  const weight = (task: Task): number => {
    if (task.do === 'race') return task.racers;
    if (task.do === 'session') return 2 + task.actions;
    return task.do === 'hold' || task.do === 'key' ? 2.5 : 1.2;
  };
  return clients.flatMap(({ tasks }) => tasks).reduce((sum, task) => sum + weight(task), 3);
}
