/** The operations of a schedule's clients and their results, in order. */

interface OperationBase {
  /** Unique within the round. */
  id: string;
  owner: string;
  /** Ticks of the history's clock. An operation that completed before another started happened before it. */
  startedAt: number;
  completedAt: number;
  /** `unknown`: no response arrived, so it happened once or not at all. */
  outcome: 'done' | 'refused' | 'unknown';
  /** The run that answered. */
  run: number;
}

export interface Grant extends OperationBase {
  kind: 'grant';
  amount: number;
  /** The reported balance. */
  balance: number | null;
}
export interface Redemption extends OperationBase {
  kind: 'redemption';
  code: string;
  amount: number;
  balance: number | null;
  /** Attempts without a response: any of them may have redeemed the code. */
  unanswered: number;
}
/** A call in process; the id is that of the journal's entry. */
export interface Charge extends OperationBase {
  kind: 'charge';
  amount: number;
  charged: number | null;
  allowOverdraft: boolean;
}
/** A call in process: reserves an amount until it is committed, released or abandoned. */
export interface Hold extends OperationBase {
  kind: 'hold';
  amount: number;
  /** Available credits, as a refusal reports them. */
  available: number | null;
  /** When the release was reported. */
  freedAt: number;
}
export interface SessionCreation extends OperationBase {
  kind: 'session';
  sessionId: string | null;
  /** Attempts without a response: each may have created a session that no client knows of. */
  unanswered: number;
}
export interface Action extends OperationBase {
  kind: 'action';
  sessionId: string;
}
export interface Delivery extends OperationBase {
  kind: 'delivery';
  eventId: string;
  isDuplicate: boolean;
  isIgnored: boolean;
}
export interface Trial extends OperationBase {
  kind: 'trial';
  code: string;
  unanswered: number;
}
export interface KeyCreation extends OperationBase {
  kind: 'key';
  keyId: string;
  raw: string;
  isRevoked: boolean | null;
}
export interface BalanceRead extends OperationBase {
  kind: 'reading';
  balance: number;
}
/** The reported usage of the month. */
export interface UsageRead extends OperationBase {
  kind: 'usage';
  actions: number;
  sessions: number;
  /** Whether this was the only worker: usage of other workers is reported with a delay. */
  isAlone: boolean;
}
/** Writes all usage counted before to the database. */
export interface Flush extends OperationBase {
  kind: 'flush';
}

export type Operation =
  | Grant
  | Redemption
  | Charge
  | Hold
  | SessionCreation
  | Action
  | Delivery
  | Trial
  | KeyCreation
  | BalanceRead
  | UsageRead
  | Flush;
type Kind = Operation['kind'];
export type OperationOf<K extends Kind> = Extract<Operation, { kind: K }>;

export class History {
  readonly operations: Operation[] = [];
  readonly issues: string[] = [];
  readonly trace: string[] = [];
  readonly #tick: () => number;
  readonly #now: () => string;

  /** All histories of a round share one clock. */
  constructor({ tick, now }: { tick: () => number; now: () => string }) {
    this.#tick = tick;
    this.#now = now;
  }

  of<K extends Kind>(kind: K): OperationOf<K>[] {
    return this.operations.filter((operation): operation is OperationOf<K> => operation.kind === kind);
  }

  /** Records an operation before its first request; its outcome is `unknown` until it completes. */
  begin<K extends Kind>(kind: K, fields: Omit<OperationOf<K>, keyof Omit<OperationBase, 'id' | 'owner'> | 'kind'>): OperationOf<K> {
    const operation = {
      ...fields,
      kind,
      startedAt: this.#tick(),
      completedAt: Number.POSITIVE_INFINITY,
      outcome: 'unknown',
      run: 0,
    } as unknown as OperationOf<K>;
    this.operations.push(operation);
    return operation;
  }

  complete<D extends Operation>(
    operation: D,
    { outcome, run, fields = {} }: { outcome: 'done' | 'refused'; run: number; fields?: Partial<D> },
  ): void {
    Object.assign(operation, fields, { outcome, run, completedAt: this.#tick() });
  }

  tick(): number {
    return this.#tick();
  }

  /** Adds a line to the trace that a failure prints. */
  note(text: string): void {
    this.trace.push(`${this.#now()} ${text}`);
  }

  addIssue(text: string): void {
    this.issues.push(text);
    this.note(`!!! ${text}`);
  }
}
