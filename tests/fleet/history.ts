/**
 * What the clients of a fleet sent and were answered, and what the browsers did for it.
 *
 * All times are milliseconds of one clock, `nowMs`, which is the same in all processes of a machine. A call that was
 * answered before another was sent happened before it. A call without an answer happened once, or not at all.
 */

interface CallBase {
  /** Unique within the history. */
  id: string;
  owner: string;
  /** When the first attempt was sent. */
  sentMs: number;
  /** When the final answer arrived; infinite without one. */
  answeredMs: number;
  /** `unknown`: no answer arrived, or one that leaves the outcome open. */
  outcome: 'done' | 'refused' | 'unknown';
  /** The error code of a refusal. */
  code: string | null;
  /** The worker that answered, as `x-berth-worker` says; null without that header. */
  worker: string | null;
}

/** A session is created; `done` when it is ready. */
export interface Creation extends CallBase {
  kind: 'creation';
  sessionId: string | null;
  name: string | null;
}
/** A session is read. `missing`: the service knows no such session. */
export interface SessionRead extends CallBase {
  kind: 'session read';
  sessionId: string;
  state: 'live' | 'over' | 'missing' | null;
  /** The worker that runs it, where an operator read it. */
  runsOn: string | null;
}
/** An action in a session’s browser. It is never sent twice. */
export interface Action extends CallBase {
  kind: 'action';
  sessionId: string;
  /** The tab that answered: its id is unique to its browser, and the session has one tab. */
  tab: string | null;
}
export interface Ending extends CallBase {
  kind: 'ending';
  sessionId: string;
}
export interface KeyCreation extends CallBase {
  kind: 'key creation';
  keyId: string | null;
}
/** A call with a key. `refused`: the service does not know or no longer accepts the key. */
export interface KeyCall extends CallBase {
  kind: 'key call';
  keyId: string;
}
export interface KeyRevocation extends CallBase {
  kind: 'key revocation';
  keyId: string;
}
/** Credits are added to a wallet. Each amount is unique in its history, so that it identifies its entry. */
export interface Grant extends CallBase {
  kind: 'grant';
  /** Millionths of a credit. */
  amount: number;
}
export interface Submission extends CallBase {
  kind: 'submission';
  jobId: string | null;
}
/** A job is read or cancelled. */
export interface JobRead extends CallBase {
  kind: 'job read';
  jobId: string;
  state: 'pending' | 'over' | 'missing' | null;
  /** Everything that never changes once the job is over: its status, its result and its error. */
  result: string | null;
}

export type Call = Creation | SessionRead | Action | Ending | KeyCreation | KeyCall | KeyRevocation | Grant | Submission | JobRead;
export type Kind = Call['kind'];
export type CallOf<K extends Kind> = Extract<Call, { kind: K }>;

/** A command that reached a browser, as its worker saw it. */
export interface BrowserAct {
  /** The call that it was for. */
  callId: string;
  worker: string;
  /** The machine's id. */
  browser: string;
  atMs: number;
}

/** A browser, from its start to its end or that of its process. */
export interface BrowserLife extends Period {
  /** The worker's id. */
  worker: string;
}

/** Others took a worker's lease, at the latest then: its sessions are lost. */
export interface Taking {
  worker: string;
  atMs: number;
}

/** A worker did nothing at all. */
export interface Freeze extends Period {
  worker: string;
}

/** A row of the journal. */
export interface JournalEntry {
  owner: string;
  from: string;
  to: string;
  amount: number;
  /** The meter that was charged, which is the session's id; null for other entries. */
  meterId: string | null;
}

/** Contents of the database when everything is quiet. */
export interface Ledger {
  journal: JournalEntry[];
  wallets: ReadonlyMap<string, { balance: number; held: number }>;
  holds: { owner: string; opId: string; amount: number }[];
}

export interface Period {
  fromMs: number;
  toMs: number;
}

export interface FleetHistory {
  calls: readonly Call[];
  acts: readonly BrowserAct[];
  browsers: readonly BrowserLife[];
  takings: readonly Taking[];
  freezes: readonly Freeze[];
  /** null for a history without its ledger. */
  ledger: Ledger | null;
  /** How many sessions an owner may have at once. */
  sessionsMax: number;
  /** Periods in which a worker could not reach the database: an action that was done then may be free. */
  databaseFaults: readonly Period[];
  /** Time from which nothing is disturbed and everything has caught up. */
  quietMs: number;
}

export const callsOf = <K extends Kind>({ calls }: Pick<FleetHistory, 'calls'>, kind: K): CallOf<K>[] =>
  calls.filter((call): call is CallOf<K> => call.kind === kind);

/** The monotonic clock of the machine: equal in all its processes. */
export const nowMs = (): number => Number(process.hrtime.bigint() / 1000n) / 1000;

/** A call before it is sent. */
export type Draft<K extends Kind> = Omit<CallOf<K>, Exclude<keyof CallBase, 'id' | 'owner'> | 'kind'>;

/** Records calls while they are made. */
export class Recorder {
  readonly calls: Call[] = [];
  readonly acts: BrowserAct[] = [];
  /** Answers that no client may get, whatever the fault. */
  readonly issues: string[] = [];

  /** Records a call before its first attempt is sent: its outcome is unknown until it is finished. */
  begin<K extends Kind>(kind: K, fields: Draft<K>): CallOf<K> {
    const open = { kind, sentMs: nowMs(), answeredMs: Number.POSITIVE_INFINITY, outcome: 'unknown', code: null, worker: null };
    const call = { ...fields, ...open } as unknown as CallOf<K>;
    this.calls.push(call);
    return call;
  }

  finish<C extends Call>(call: C, fields: Partial<C> & Pick<CallBase, 'outcome'>): void {
    Object.assign(call, fields, { answeredMs: nowMs() });
  }
}
