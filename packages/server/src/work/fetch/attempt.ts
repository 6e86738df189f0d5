/** One attempt: over plain HTTP, in a browser of its own, or in the caller's session. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { StrategyName } from '@berth/contract';
import type { CookieParam, PrivatePage, StepContext } from '@berth/devtools';
import type { Captchas } from '../../sessions/captcha/captcha.ts';
import type { Content, Converter } from '@berth/reading';
import { createStepContext, solveCaptcha } from '../../sessions/drive/drive.ts';
import { HttpError, type EgressRoute, type EgressStats } from '@berth/egress';
import type { Deadline } from '@berth/lib/deadline.ts';
import type { Clock } from '@berth/lib/clock.ts';
import type { Metering, Ticket } from '../../accounts/metering/metering.ts';
import type { Runtime } from '@berth/machines';
import type { SelfHeal } from '../selfheal/selfheal.ts';
import type { LiveSession, Sessions } from '../../sessions/sessions/sessions.ts';
import { createPageStepContext } from './page-step-context.ts';
import { BrowserFetch, type BrowserFetchOptions } from './browse.ts';
import { createTimeoutError, DeadlineExceededError, toFetchError, type FetchError } from './errors.ts';
import type { HttpRoute, HttpRoutes } from './http-routes.ts';
import type { FetchMachines, PageLease } from './machines.ts';
import { PlainReader, toHttpRequest, type PlainResult } from './plain.ts';
import { createPageResult, type PageResult } from './result.ts';
import type { Robots } from './robots.ts';
import { withKind, type FetchSpec } from './spec.ts';

export interface RunDeps {
  sessions: Sessions;
  machines: FetchMachines;
  httpRoutes: HttpRoutes;
  robots: Robots;
  selfHeal: SelfHeal;
  content: Content;
  captchas: Captchas;
  metering: Metering;
  clock: Clock;
  allowEvaluate: boolean;
  /** User agent of plain requests. */
  userAgent: string;
  /** Runtime of this worker. */
  runtime: Pick<Runtime, 'kinds'>;
}

export interface AttemptOptions {
  strategy: StrategyName;
  /** Deadline of the whole fetch: an attempt may use all that is left of it. */
  budget: Deadline;
  /** Called before the page is changed, and before a captcha is solved. */
  touch: () => Promise<void>;
}

export interface Transport {
  mode: 'browser' | 'http';
  /** Why a browser took over from plain HTTP, or that none was needed. */
  reason: string | null;
  /** The egress that was used. */
  egress: Pick<EgressStats, 'type' | 'country' | 'ip'>;
}

/** Charges a fetch to the meter of its last attempt. */
export type Charge = (ticket: Ticket, actions: number) => Promise<void>;

export const noUsage = { steps: 0, solves: 0, bytesIn: 0, bytesOut: 0, queueMs: 0, sessionMs: 0 };
export type AttemptUsage = typeof noUsage;

/** Adds to `total`. */
export function addUsage(total: AttemptUsage, usage: Partial<AttemptUsage>): void {
  for (const key of Object.keys(usage) as (keyof AttemptUsage)[]) total[key] += usage[key] ?? 0;
}

/** What an attempt came to and what it used; a failed attempt reports its usage as well. */
export interface AttemptResult {
  status: 'ok' | 'blocked' | 'error';
  page: PageResult;
  error: FetchError | null;
  sessionId: string | null;
  transport: Transport | null;
  /** null when the attempt opened no route and no machine. */
  charge: Charge | null;
  usage: AttemptUsage;
}

export class FetchAttempt {
  readonly #deps: RunDeps;
  readonly #spec: FetchSpec;
  readonly #options: AttemptOptions;
  readonly #content: Converter;
  readonly #usage = { ...noUsage };
  #sessionId: string | null = null;
  #transport: Transport | null = null;
  #charge: Charge | null = null;

  constructor(deps: RunDeps, spec: FetchSpec, options: AttemptOptions) {
    this.#deps = deps;
    this.#spec = options.strategy === 'full_browser' ? withKind(spec, 'full_browser') : spec;
    this.#options = options;
    this.#content = deps.content.for(spec.owner);
  }

  /**
   * @throws what the caller or the operator has to fix, and the signal's reason unless it is the deadline. Such a
   * fetch costs nothing, so its usage is not returned.
   */
  async run(signal: AbortSignal): Promise<AttemptResult> {
    try {
      const page = await this.#fetch(signal);
      return this.#toResult({ status: page.block?.blocked ? 'blocked' : 'ok', page, error: null });
    } catch (cause) {
      const isLate = signal.reason instanceof DeadlineExceededError;
      if (!isLate) signal.throwIfAborted();
      const { request } = this.#spec;
      const error = isLate ? createTimeoutError(request.timeout_ms) : toFetchError(cause, request);
      return this.#toResult({ status: 'error', page: createPageResult(request.url), error });
    }
  }

  #toResult(outcome: Pick<AttemptResult, 'status' | 'page' | 'error'>): AttemptResult {
    return { ...outcome, sessionId: this.#sessionId, transport: this.#transport, charge: this.#charge, usage: this.#usage };
  }

  async #fetch(signal: AbortSignal): Promise<PageResult> {
    const { request } = this.#spec;
    if (request.session_id !== null) return this.#fetchInSession(request.session_id, signal);
    if (request.mode === 'browser' || this.#options.strategy === 'full_browser') return this.#fetchInMachine(null, signal);
    const reason = request.mode === 'auto' ? toBrowserReason(request) : null;
    if (reason) return this.#fetchInMachine(reason, signal);
    const { page, needsBrowser } = await this.#deps.httpRoutes.withRoute(this.#spec, (route) => this.#fetchPlain(route, signal));
    return needsBrowser && request.mode === 'auto' ? this.#fetchInMachine(needsBrowser, signal) : page;
  }

  async #fetchPlain({ route, client, meter }: HttpRoute, signal: AbortSignal): Promise<PlainResult> {
    const { request } = this.#spec;
    const { budget, strategy } = this.#options;
    this.#charge = (ticket, actions) => ticket.charge(meter, actions);
    if (strategy === 'rotate_egress') await route.rotate(signal);
    this.#transport = { mode: 'http', reason: request.mode === 'auto' ? 'no_browser_needed' : null, egress: egressOf(route) };
    const reader = new PlainReader({ request, content: this.#content, budget });
    const response = await client.request(toHttpRequest(request, budget.leftMs, reader.next), { signal }).catch((error: unknown) => {
      if (error instanceof HttpError) addUsage(this.#usage, { bytesIn: error.progress.bytesIn, bytesOut: error.progress.bytesOut });
      throw error;
    });
    addUsage(this.#usage, { bytesIn: response.bytesIn, bytesOut: response.bytesOut });
    if (response.unreadable !== null) throw new HttpError('connection_reset', response.unreadable);
    return reader.read(response, signal);
  }

  #fetchInMachine(reason: string | null, signal: AbortSignal): Promise<PageResult> {
    return this.#deps.machines.withPage(this.#spec, signal, (lease) => {
      this.#usage.sessionMs += lease.waitedMs;
      return this.#browse(lease, createPageStepContext(lease.page, { clock: this.#deps.clock, content: this.#content }), reason);
    });
  }

  #fetchInSession(sessionId: string, callerSignal: AbortSignal): Promise<PageResult> {
    const { clock, sessions } = this.#deps;
    const startMs = clock.monotonicMs();
    return sessions.withBrowser(this.#spec.owner, sessionId, { signal: callerSignal }, async (machine, signal, session) => {
      this.#usage.queueMs += Math.round(clock.monotonicMs() - startMs);
      const { tabId } = machine.browser.activeTab();
      const page = machine.browser.borrow(tabId);
      const stepContext = createStepContext({ ...this.#deps, machine, session }, tabId);
      try {
        return await this.#browse({ sessionId, page, machine, session, signal }, stepContext, null);
      } finally {
        await page.close();
      }
    });
  }

  async #browse(lease: Omit<PageLease, 'waitedMs'>, stepContext: StepContext, reason: string | null): Promise<PageResult> {
    const { sessionId, page, machine, session, signal } = lease;
    const { request } = this.#spec;
    const { budget, strategy, touch } = this.#options;
    this.#sessionId = sessionId;
    this.#charge = (ticket, actions) => this.#deps.sessions.charge(session, ticket, actions);
    if (strategy === 'rotate_egress') await machine.egress.rotate(signal);
    this.#transport = { mode: 'browser', reason, egress: egressOf(machine.egress) };
    const cookies = strategy === 'fresh_context' ? [] : toCookies(request);
    const solve = this.#createSolver(page, session);
    const browse = new BrowserFetch(
      { ...this.#deps, content: this.#content, request, page, stepContext, budget, touch, cookies, solve },
      signal,
    );
    const before = page.bytes();
    try {
      return await browse.run();
    } finally {
      // CDP reports the last requests one tick after they were answered.
      await sleep(0);
      const after = page.bytes();
      addUsage(this.#usage, { ...browse.usage, bytesIn: after.in - before.in, bytesOut: after.out - before.out });
    }
  }

  #createSolver({ page }: PrivatePage, session: LiveSession): BrowserFetchOptions['solve'] {
    const { strategy, budget, touch } = this.#options;
    if (strategy !== 'captcha_provider' && strategy !== 'human') return null;
    const provider = strategy === 'human' ? 'human' : 'http';
    return async (signal) => {
      await touch();
      return solveCaptcha({ ...this.#deps, session }, { page, provider, leftMs: budget.leftMs, signal });
    };
  }
}

function egressOf(route: EgressRoute): Transport['egress'] {
  const { type, country, ip } = route.stats();
  return { type, country, ip };
}

/** Why the request needs a browser from the start; null when plain HTTP may do. */
function toBrowserReason({ formats, actions, wait_for: waitFor }: FetchSpec['request']): string | null {
  if (formats.includes('screenshot') || formats.includes('pdf') || formats.includes('har')) return 'needs_format';
  return actions.length > 0 || waitFor !== null ? 'needs_actions' : null;
}

const toCookies = ({ cookies, url }: FetchSpec['request']): CookieParam[] =>
  cookies.map(({ name, value, domain, path }) =>
    domain === undefined ? { name, value, url: new URL(path, url).href, path } : { name, value, domain, path },
  );
