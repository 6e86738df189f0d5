/** One attempt: over plain HTTP, in a browser of its own, or in the caller's session. */
import { setTimeout as sleep } from 'node:timers/promises';
import { browserFormats, type StrategyName } from '@berth/contract';
import type { CookieParam, PrivatePage } from '@berth/devtools';
import type { Captchas } from '../../sessions/captcha/captcha.ts';
import type { Content, Converter } from '@berth/reading';
import { solveCaptcha } from '../../sessions/drive/drive.ts';
import { HttpError, type EgressRoute, type EgressStats } from '@berth/egress';
import type { Clock } from '@berth/lib/clock.ts';
import type { Metering } from '../../accounts/metering/metering.ts';
import type { Runtime } from '@berth/machines';
import type { SelfHeal } from '../selfheal/selfheal.ts';
import type { LiveSession, Sessions } from '../../sessions/sessions/sessions.ts';
import { DeadlineExceededError, withPageOf, type Place, type WorkRun } from '../engine/engine.ts';
import { BrowserFetch, type BrowserFetchOptions } from './browse.ts';
import { createTimeoutError, toFetchError, type FetchError } from './errors.ts';
import type { HttpRoute, HttpRoutes } from './plain/http-routes.ts';
import { PlainReader, toHttpRequest, type PlainResult } from './plain/plain.ts';
import { createPageResult, type PageResult } from './result.ts';
import type { Robots } from './robots.ts';
import { withKind, type FetchSpec } from './spec.ts';

export interface RunDeps {
  sessions: Sessions;
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
  /** That of the whole fetch: an attempt may use all that is left of its time. */
  run: WorkRun;
}

export interface Transport {
  mode: 'browser' | 'http';
  /** Why a browser took over from plain HTTP, or that none was needed. */
  reason: string | null;
  /** The egress that was used. */
  egress: Pick<EgressStats, 'type' | 'country' | 'ip'>;
}

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
    return { ...outcome, sessionId: this.#sessionId, transport: this.#transport, usage: this.#usage };
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
    const { run, strategy } = this.#options;
    const { budget } = run;
    run.chargeBy((ticket, actions) => ticket.charge(meter, actions));
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
    return this.#options.run.inSharedMachine(this.#spec, signal, (place) => {
      this.#usage.sessionMs += place.waitedMs;
      return withPageOf(place, (page) => this.#browse(place, page, reason));
    });
  }

  #fetchInSession(sessionId: string, signal: AbortSignal): Promise<PageResult> {
    return this.#options.run.inSession(sessionId, signal, (place) => {
      this.#usage.queueMs += place.waitedMs;
      return withPageOf(place, (page) => this.#browse(place, page, null));
    });
  }

  async #browse(
    { sessionId, machine, session, signal, stepContext }: Place,
    page: PrivatePage,
    reason: string | null,
  ): Promise<PageResult> {
    const { request } = this.#spec;
    const { strategy, run } = this.#options;
    const { budget } = run;
    const touch = (): Promise<void> => run.touch();
    this.#sessionId = sessionId;
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
    const { strategy, run } = this.#options;
    if (strategy !== 'captcha_provider' && strategy !== 'human') return null;
    const provider = strategy === 'human' ? 'human' : 'http';
    return async (signal) => {
      await run.touch();
      return solveCaptcha({ ...this.#deps, session }, { page, provider, leftMs: run.budget.leftMs, signal });
    };
  }
}

function egressOf(route: EgressRoute): Transport['egress'] {
  const { type, country, ip } = route.stats();
  return { type, country, ip };
}

/** Why the request needs a browser from the start; null when plain HTTP may do. */
function toBrowserReason({ formats, actions, wait_for: waitFor }: FetchSpec['request']): string | null {
  if (formats.some((format) => browserFormats.has(format))) return 'needs_format';
  return actions.length > 0 || waitFor !== null ? 'needs_actions' : null;
}

const toCookies = ({ cookies, url }: FetchSpec['request']): CookieParam[] =>
  cookies.map(({ name, value, domain, path }) =>
    domain === undefined ? { name, value, url: new URL(path, url).href, path } : { name, value, domain, path },
  );
