/** One run of work, as its kind sees it: its time, its places, and what it may spend. */
import { type PrivatePage, type StepContext, StepError } from '@berth/devtools';
import type { Content } from '@berth/reading';
import { CreateSessionRequest, type WorkUsage } from '@berth/contract';
import type { Clock } from '@berth/lib/clock.ts';
import { Deadline } from '@berth/lib/deadline.ts';
import { newId } from '@berth/lib/ids.ts';
import type { Metering, Ticket } from '../../accounts/metering/metering.ts';
import { createStepContext } from '../../sessions/drive/drive.ts';
import { service, type LiveSession, type Machine, type Sessions } from '../../sessions/sessions/sessions.ts';
import type { JobContext, JobKind } from '../jobs/jobs.ts';
import type { Allowance } from './allowance.ts';
import type { MachineSpec } from './machine-spec.ts';
import type { SharedMachines } from './shared-machines.ts';

/** What work needs, as the engine admits and places it. */
export interface WorkNeeds {
  jobKind: JobKind;
  /** Where it runs outside the caller's session, and whose it is. */
  machine: MachineSpec;
  /** A session of its own, a page of a machine that the owner's work shares, or nothing that is known before it runs. */
  place: 'session' | 'page' | 'nothing';
  /** Actions of work that succeeds at once: they are admitted before it begins. */
  actions: number;
  /** The request fields that responses repeat. No secrets. */
  subject: Record<string, unknown>;
  /** Whether the request has secrets: then it is not stored, and no other worker can run it. */
  hasSecrets: boolean;
  /** Time of the request's `timeout_ms` that is kept back for the response. */
  reserveMs: number;
}

/** The job of the work, or its caller. */
export type WorkContext = Omit<JobContext, 'jobId'> & { jobId: string | null };

export interface WorkRunDeps {
  sessions: Sessions;
  machines: SharedMachines;
  metering: Metering;
  content: Content;
  clock: Clock;
}

/** Where work runs. */
export interface Place {
  sessionId: string;
  machine: Machine;
  session: LiveSession;
  /** Aborts with that of the work, and when the session ends. */
  signal: AbortSignal;
  stepContext: StepContext;
  /** null in a session, whose tabs the work uses. */
  page: PrivatePage | null;
  /** How long the work waited for the place. */
  waitedMs: number;
}

/** A session of the work's own outlives it by this, and ends at its end. */
const spareSeconds = 60;
const sessionSecondsMin = 30;

type Charge = (ticket: Ticket, actions: number) => Promise<void>;

export class WorkRun {
  readonly jobId: string | null;
  /** A session of the work's own gets this id. A job's second run gives it the same. */
  readonly ownSessionId: string;
  readonly budget: Deadline;
  readonly startedAt: Date;
  /** The session of the last place; null while there was none. */
  sessionId: string | null = null;
  readonly #deps: WorkRunDeps;
  readonly #needs: WorkNeeds;
  readonly #context: WorkContext;
  readonly #allowance: Allowance;
  readonly #timeoutMs: number;
  #charge: Charge;

  constructor(
    deps: WorkRunDeps,
    needs: WorkNeeds,
    { context, allowance, timeoutMs }: { context: WorkContext; allowance: Allowance; timeoutMs: number },
  ) {
    this.#deps = deps;
    this.#needs = needs;
    this.#context = context;
    this.#allowance = allowance;
    this.#timeoutMs = timeoutMs;
    this.jobId = context.jobId;
    // A job's id begins with that of its session.
    this.ownSessionId = context.jobId?.split('.')[0] ?? newId('ses');
    this.budget = new Deadline({ signal: context.signal, timeoutMs: timeoutMs - needs.reserveMs, clock: deps.clock });
    this.startedAt = deps.clock.now();
    this.#charge = (ticket, actions) => deps.metering.chargeWithoutRoute(needs.machine, ticket, actions);
  }

  /** Reports progress of a job. */
  progress(step: number, total: number | null, note: string): void {
    this.#context.progress(step, total, note);
  }

  /** Called before what cannot be repeated. */
  touch(): Promise<void> {
    return this.#context.touch();
  }

  /** Admits all actions up to this number. @throws ServiceError plan_limit_exceeded, insufficient_credits */
  reserve(actions: number): Promise<void> {
    return this.#allowance.reserve(actions);
  }

  /** The usage with its price. */
  usageOf(counts: Omit<WorkUsage, 'credits'>): WorkUsage {
    return { ...counts, credits: this.#deps.metering.costOf(counts) };
  }

  /** Charges the work to a meter other than that of its last place. */
  chargeBy(charge: Charge): void {
    this.#charge = charge;
  }

  async charge(actions: number): Promise<void> {
    await this.touch();
    await this.#allowance.charge(actions, this.#charge);
  }

  /** Runs `work` where it needs to: in the caller's session, in one of its own, or in a page of a shared machine. */
  inPlace<T>(signal: AbortSignal, work: (place: Place) => Promise<T>, { keep = false } = {}): Promise<T> {
    const { machine, place } = this.#needs;
    if (machine.request.session_id !== null) return this.inSession(machine.request.session_id, signal, work);
    if (place !== 'session') return this.inSharedMachine(machine, signal, work);
    return this.inOwnSession(signal, () => this.inSession(this.ownSessionId, signal, work), { keep });
  }

  /** Runs `work` while a session of the run's own is there; `keep`: it outlives the work. @throws what creating a session throws, and what `work` throws */
  async inOwnSession<T>(signal: AbortSignal, work: () => Promise<T>, { keep = false } = {}): Promise<T> {
    const { sessions } = this.#deps;
    const { owner, principal, region, kind, tier, request } = this.#needs.machine;
    const { proxy, block_ads, profile } = request;
    const seconds = Math.max(Math.ceil(this.#timeoutMs / 1000) + spareSeconds, sessionSecondsMin);
    const lifetime = keep ? {} : { timeout_seconds: Math.min(seconds, tier.max_session_seconds) };
    const wanted = CreateSessionRequest.parse({ kind, region: region.code, proxy, block_ads, profile, ...lifetime });
    // A session is charged.
    await this.touch();
    await sessions.create(principal, wanted, { wait: true, signal, sessionId: this.ownSessionId });
    try {
      return await work();
    } finally {
      if (!keep || signal.aborted) await sessions.end(owner, this.ownSessionId, { reason: 'requested', actor: service });
    }
  }

  /** Runs `work` in the session's active tab, when it is its turn. */
  inSession<T>(sessionId: string, callerSignal: AbortSignal, work: (place: Place) => Promise<T>): Promise<T> {
    const { sessions, content, clock } = this.#deps;
    const startMs = clock.monotonicMs();
    return sessions.withBrowser(this.#needs.machine.owner, sessionId, { signal: callerSignal }, (machine, signal, session) => {
      const waitedMs = Math.round(clock.monotonicMs() - startMs);
      const { tabId } = machine.browser.activeTab();
      const stepContext = createStepContext({ machine, session, content, clock }, tabId);
      return work(this.#enter({ sessionId, machine, session, signal, stepContext, page: null, waitedMs }));
    });
  }

  /** Runs `work` in a page of its own. @throws ServiceError no_capacity, or what `work` throws */
  inSharedMachine<T>(machine: MachineSpec, callerSignal: AbortSignal, work: (place: Place) => Promise<T>): Promise<T> {
    const { machines, content, clock } = this.#deps;
    return machines.withPage(machine, callerSignal, (lease) => {
      const stepContext = createPageStepContext(lease.page, { clock, content: content.for(machine.owner) });
      return work(this.#enter({ ...lease, stepContext }));
    });
  }

  #enter(place: Place): Place {
    const { sessionId, session } = place;
    this.sessionId = sessionId;
    this.#charge = (ticket, actions) => this.#deps.sessions.charge(session, ticket, actions);
    return place;
  }
}

/** Runs `work` with the place's page: in a session with its tab, whose settings are restored afterwards. */
export async function withPageOf<T>({ page, machine, stepContext }: Place, work: (page: PrivatePage) => Promise<T>): Promise<T> {
  if (page) return work(page);
  const borrowed = machine.browser.borrow(stepContext.mainTabId);
  try {
    return await work(borrowed);
  } finally {
    await borrowed.close();
  }
}

/** A private page runs steps alone: no other tabs, no files, no downloads. */
function createPageStepContext(privatePage: PrivatePage, { content, clock }: Pick<StepContext, 'content' | 'clock'>): StepContext {
  const { page } = privatePage;
  return {
    mainTabId: page.tabId,
    tabs: () => [{ tabId: page.tabId, openerTabId: null, status: 'complete' }],
    page: () => page,
    filePath: () => Promise.resolve(null),
    waitForDownload: () =>
      Promise.reject(new StepError('not_allowed', 'A private page keeps no downloads. Use a session; a fetch also has the format `raw`.')),
    setCookie: (cookie, { signal }) => privatePage.setCookies([cookie], { signal }),
    cookies: ({ signal }) => privatePage.cookies({ signal }),
    content,
    clock,
  };
}
