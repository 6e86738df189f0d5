/** What the clients of a schedule did and were told, in the order in which it happened to them. */

interface Common {
  /** Of the operation: unlike any other of the round. */
  id: string;
  owner: string;
  /** Ticks of the history's clock: whatever was told before another thing began was there before it. */
  startedAt: number;
  settledAt: number;
  /** `unknown`: nobody was told what came of it, so it happened once or not at all. */
  outcome: 'done' | 'refused' | 'unknown';
  /** The life that has answered. */
  life: number;
}

export interface Grant extends Common {
  kind: 'grant';
  amount: number;
  /** As it was told. */
  balance: number | null;
}
export interface Redemption extends Common {
  kind: 'redemption';
  code: string;
  amount: number;
  balance: number | null;
  /** How often it was asked for without an answer: it may have been the winner then. */
  lost: number;
}
/** By the door: the id is that of the journal's entry. */
export interface Charge extends Common {
  kind: 'charge';
  amount: number;
  charged: number | null;
  mayOwe: boolean;
}
/** By the door: what is kept back until it is committed, released or given up. */
export interface Hold extends Common {
  kind: 'hold';
  amount: number;
  /** As it was told when it was refused. */
  available: number | null;
  /** When it was told that nothing is kept back any more. */
  freedAt: number;
}
export interface Created extends Common {
  kind: 'session';
  sessionId: string | null;
  /** How often it was asked for without an answer: each may have made a session that nobody knows of. */
  lost: number;
}
export interface Action extends Common {
  kind: 'action';
  sessionId: string;
}
export interface Delivery extends Common {
  kind: 'delivery';
  eventId: string;
  isDuplicate: boolean;
  isIgnored: boolean;
}
export interface Trial extends Common {
  kind: 'trial';
  code: string;
  lost: number;
}
export interface KeyMade extends Common {
  kind: 'key';
  keyId: string;
  raw: string;
  isRevoked: boolean | null;
}
export interface Reading extends Common {
  kind: 'reading';
  balance: number;
}
/** What the service says that was used this month. */
export interface UsageRead extends Common {
  kind: 'usage';
  actions: number;
  sessions: number;
  /** Whether nobody else counted at that time: what other workers count is told a little later. */
  isAlone: boolean;
}
/** All that was counted before it is written down. */
export interface Flush extends Common {
  kind: 'flush';
}

export type Deed = Grant | Redemption | Charge | Hold | Created | Action | Delivery | Trial | KeyMade | Reading | UsageRead | Flush;
type Kind = Deed['kind'];
export type DeedOf<K extends Kind> = Extract<Deed, { kind: K }>;

export class History {
  readonly deeds: Deed[] = [];
  readonly complaints: string[] = [];
  readonly trace: string[] = [];
  readonly #tick: () => number;
  readonly #now: () => string;

  /** All histories of a round share one clock. */
  constructor({ tick, now }: { tick: () => number; now: () => string }) {
    this.#tick = tick;
    this.#now = now;
  }

  of<K extends Kind>(kind: K): DeedOf<K>[] {
    return this.deeds.filter((deed): deed is DeedOf<K> => deed.kind === kind);
  }

  /** Writes an operation down before it begins: until it is settled nobody knows what came of it. */
  begin<K extends Kind>(kind: K, facts: Omit<DeedOf<K>, keyof Omit<Common, 'id' | 'owner'> | 'kind'>): DeedOf<K> {
    const deed = {
      ...facts,
      kind,
      startedAt: this.#tick(),
      settledAt: Number.POSITIVE_INFINITY,
      outcome: 'unknown',
      life: 0,
    } as unknown as DeedOf<K>;
    this.deeds.push(deed);
    return deed;
  }

  settle<D extends Deed>(deed: D, { outcome, life, facts = {} }: { outcome: 'done' | 'refused'; life: number; facts?: Partial<D> }): void {
    Object.assign(deed, facts, { outcome, life, settledAt: this.#tick() });
  }

  tick(): number {
    return this.#tick();
  }

  /** A line for whoever looks for what went wrong. */
  note(text: string): void {
    this.trace.push(`${this.#now()} ${text}`);
  }

  complain(text: string): void {
    this.complaints.push(text);
    this.note(`!!! ${text}`);
  }
}
