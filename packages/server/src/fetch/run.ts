/**
 * One fetch from its order to its answer: attempts by the ladder, within the
 * budget, each recorded; the last one is what is told.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Block, FetchResponse, StrategyName, WorkUsage } from '@berth/contract';
import type { Attempt, Course } from '../selfheal/selfheal.ts';
import { Budget } from './budget.ts';
import type { RunDeps } from './deps.ts';
import { faultOf, outOfTime } from './faults.ts';
import { emptyFound, type FetchFault, type Found } from './found.ts';
import type { FetchOrder } from './order.ts';
import { tryOnce, type Charge, type Tried, type Use } from './try-once.ts';

export interface FetchOutcome {
  status: 'ok' | 'blocked' | 'error';
  found: Found;
  fault: FetchFault | null;
  sessionId: string | null;
  attempts: FetchResponse['attempts'];
  resolvedBy: string | null;
  bytes: { in: number; out: number };
  usage: WorkUsage;
  /** null where it came to no way out. */
  charge: Charge | null;
  timings: { queueMs: number; sessionMs: number; totalMs: number };
}

export interface RunContext {
  jobId: string | null;
  signal: AbortSignal;
  progress(step: number, total: number | null, note: string): void;
}

type AttemptStatus = Tried['status'];

/** What takes all of the time that it is given must leave this much to tell the rest in. */
const tellingMs = (totalMs: number): number => Math.min(300, totalMs * 0.1);

export class FetchRun {
  readonly #deps: RunDeps;
  readonly #order: FetchOrder;
  readonly #context: RunContext;
  readonly #budget: Budget;
  readonly #attempts: Attempt[] = [];
  readonly #told: FetchResponse['attempts'] = [];
  readonly #bytes = { in: 0, out: 0 };
  readonly #timings = { queueMs: 0, sessionMs: 0 };
  readonly #solves = { count: 0 };
  readonly #steps = { ran: 0 };
  #tries = 0;
  #charge: Charge | null = null;

  constructor(deps: RunDeps, order: FetchOrder, context: RunContext) {
    this.#deps = deps;
    this.#order = order;
    this.#context = context;
    this.#budget = new Budget(deps.clock, order.request.timeout_ms - tellingMs(order.request.timeout_ms));
  }

  /** Throws ServiceError for what is the caller's or the worker's to mend, and the signal's reason. */
  async run(): Promise<FetchOutcome> {
    const { request, owner, domain } = this.#order;
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(new OutOfTime()), request.timeout_ms);
    const signal = AbortSignal.any([this.#context.signal, late.signal]);
    try {
      const refused = await this.#refusal(signal);
      if (refused)
        return this.#conclude({
          status: 'blocked',
          found: { ...emptyFound(request.url), block: refused },
          fault: null,
          sessionId: null,
          via: null,
        });
      const course = await this.#deps.selfHeal.begin(owner, domain, { enabled: this.#enabled(), force: request.retry.force, signal });
      if (course.cooldown) return this.#conclude(inCooldown(this.#order, course.cooldown, this.#deps.clock.now()));
      return this.#conclude(await this.#climb(course, signal));
    } catch (error) {
      this.#context.signal.throwIfAborted();
      if (!late.signal.aborted) throw error;
      return this.#conclude({
        status: 'error',
        found: emptyFound(request.url),
        fault: outOfTime(request.timeout_ms),
        sessionId: null,
        via: null,
      });
    } finally {
      clearTimeout(timer);
      this.#deps.selfHeal.record({ attempts: this.#attempts });
    }
  }

  /** What a site's own rules forbid is not asked for. */
  async #refusal(signal: AbortSignal): Promise<Block | null> {
    const { request, key, policy } = this.#order;
    if (!request.respect_robots || !policy) return null;
    const why = await this.#deps.ways.with(this.#order, ({ client }) => this.#deps.robots.refusal(client, key, request.url, signal));
    return why === null ? null : ownBlock('robots_disallowed', why);
  }

  async #climb(course: Course, signal: AbortSignal): Promise<Tried> {
    const { max_attempts: most } = this.#order.request.retry;
    let rest: { strategy: StrategyName; waitMs: number } | null = course.first;
    let tried: Tried | null = null;
    for (let n = 1; rest && n <= most; n += 1) {
      await pause(rest.waitMs, signal);
      const before: Tried | null = tried;
      tried = await this.#attempt(rest.strategy, n, signal);
      // An attempt that the time ran out on says less than the one before.
      if (before && tried.fault?.code === 'timeout' && before.status !== 'error') tried = before;
      if (!this.#isWorthRetry(tried)) break;
      const failed = {
        strategy: rest.strategy,
        outcome: learnt(tried),
        block: tried.found.block,
        statusCode: tried.found.statusCode,
        reason: tried.fault?.reason ?? undefined,
      };
      rest = course.next(failed, this.#budget.leftMs());
    }
    if (!tried) throw new Error('a fetch has at least one attempt');
    return tried;
  }

  async #attempt(strategy: StrategyName, n: number, signal: AbortSignal): Promise<Tried> {
    const { clock, selfHeal } = this.#deps;
    const { request, owner, domain } = this.#order;
    const startedAt = clock.now();
    const startMs = clock.monotonicMs();
    this.#context.progress(n, request.retry.max_attempts, strategy);
    const attempt = (): Promise<Tried> => this.#try(strategy, n, signal);
    const tried = await (strategy === 'slower_pacing' ? selfHeal.pace(owner, domain, signal, attempt) : attempt());
    const durationMs = Math.round(clock.monotonicMs() - startMs);
    this.#note({ strategy, n, startedAt, durationMs }, tried);
    return tried;
  }

  async #try(strategy: StrategyName, n: number, signal: AbortSignal): Promise<Tried> {
    const { request } = this.#order;
    const left = this.#budget.leftMs();
    // A first try that took all of the time would leave none to learn from.
    const attemptMs =
      n < request.retry.max_attempts && request.retry.on.includes('timeout') ? Math.max(left * 0.6, Math.min(left, 15_000)) : left;
    const use: Use = {
      budget: this.#budget,
      attemptMs,
      strategy,
      timings: this.#timings,
      bytes: this.#bytes,
      solves: this.#solves,
      steps: this.#steps,
    };
    this.#tries += 1;
    try {
      return await tryOnce(this.#deps, this.#order, use, signal);
    } catch (error) {
      const isLate = signal.aborted && signal.reason instanceof OutOfTime;
      if (signal.aborted && !isLate) throw signal.reason;
      const fault = isLate ? outOfTime(request.timeout_ms) : faultOf(error);
      return { status: 'error', found: emptyFound(request.url), fault, sessionId: use.sessionId ?? null, via: use.via ?? null };
    } finally {
      this.#charge = use.charge ?? this.#charge;
    }
  }

  #isWorthRetry({ status, fault, found }: Tried): boolean {
    const { method, actions, retry } = this.#order.request;
    const { on } = retry;
    // What may have been done is not done twice: an order that is sent again is a second order.
    if (method === 'POST' || method === 'PATCH') return false;
    if (actions.length > 0 && status !== 'blocked' && fault?.code !== 'navigation_failed') return false;
    if (status === 'blocked') return on.includes('blocked');
    if (status === 'error') {
      // Another machine is to be had; the caller's own session is not.
      if (fault?.reason === 'session_lost') return this.#order.request.session_id === null;
      if (fault?.reason === 'proxy_error') return on.includes('proxy_error');
      return fault?.retryable === true && fault.code !== 'no_capacity' && on.includes('timeout');
    }
    return (found.statusCode ?? 0) >= 500 && on.includes('5xx');
  }

  /** What could be done here for this request. */
  #enabled(): StrategyName[] {
    const { request, policy } = this.#order;
    const { configured } = this.#deps.captchas;
    const byBrowser = request.mode !== 'http';
    return [
      'direct',
      'wait_retry',
      'slower_pacing',
      ...(policy && policy.upstreams.length > 1 ? (['other_egress'] as const) : []),
      ...(byBrowser && request.session_id === null && request.cookies.length > 0 ? (['fresh_context'] as const) : []),
      ...(byBrowser && configured.includes('http') ? (['captcha_provider'] as const) : []),
      // A person can only reach the page of a session.
      ...(request.session_id !== null && configured.includes('human') ? (['human'] as const) : []),
    ];
  }

  #note(
    { strategy, n, startedAt, durationMs }: { strategy: StrategyName; n: number; startedAt: Date; durationMs: number },
    tried: Tried,
  ): void {
    const { owner, domain, request, region, egress } = this.#order;
    const { found, fault, status, via, sessionId } = tried;
    const block = found.block?.blocked ? found.block : null;
    this.#told.push({
      n,
      started_at: startedAt.toISOString(),
      strategy,
      mode: via?.mode ?? (request.mode === 'http' ? 'http' : 'browser'),
      egress,
      kind: request.kind,
      status_code: found.statusCode,
      status,
      block_type: block?.type ?? null,
      error_code: fault?.code ?? null,
      duration_ms: durationMs,
    });
    if (domain === '') return;
    this.#attempts.push({
      owner,
      domain,
      url: found.finalUrl,
      task: 'fetch',
      jobId: this.#context.jobId,
      sessionId,
      region: region.code,
      egress: { ...egress, ip: via?.ip ?? null },
      kind: request.kind,
      n,
      strategy,
      startedAt,
      durationMs,
      outcome: learnt(tried),
      block,
      statusCode: found.statusCode,
    });
  }

  #conclude({ status, found, fault, sessionId, via }: Tried): FetchOutcome {
    const last = this.#told.at(-1);
    const how = via && last ? [via.mode, last.strategy, ...(via.why ? [via.why] : [])].join(':') : null;
    return {
      status,
      found,
      fault,
      sessionId,
      attempts: this.#told,
      resolvedBy: status === 'ok' ? how : null,
      bytes: this.#bytes,
      usage: this.#usage(),
      charge: this.#charge,
      timings: { ...this.#timings, totalMs: this.#budget.spentMs() },
    };
  }

  /** An action for each attempt, and one for each step that ran in it. */
  #usage(): WorkUsage {
    const { in: bytesIn, out: bytesOut } = this.#bytes;
    const counts = { actions: this.#tries + this.#steps.ran, egress_bytes: bytesIn + bytesOut, captcha_solves: this.#solves.count };
    return { ...counts, credits: this.#deps.metering.costOf(counts) };
  }
}

/** The time of the whole is over. */
class OutOfTime extends Error {}

/** A page that a site answers is its truth, also a 404. A 5xx that would be tried again was no success. */
const learnt = ({ status, found }: Tried): AttemptStatus => (status === 'ok' && (found.statusCode ?? 0) >= 500 ? 'error' : status);

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (ms > 0) await sleep(ms, undefined, { signal }).catch(() => signal.throwIfAborted());
}

function inCooldown({ request }: FetchOrder, { until, vendor }: NonNullable<Course['cooldown']>, now: Date): Tried {
  const seconds = Math.max(1, Math.ceil((until.getTime() - now.getTime()) / 1000));
  const block: Block = { ...ownBlock('cooldown', `left alone until ${until.toISOString()}`), vendor, retry_after_seconds: seconds };
  return { status: 'blocked', found: { ...emptyFound(request.url), block }, fault: null, sessionId: null, via: null };
}

/** What we keep ourselves from, and not the site. */
const ownBlock = (type: 'robots_disallowed' | 'cooldown', why: string): Block => ({
  blocked: true,
  type,
  vendor: 'unknown',
  confidence: 'high',
  evidence: [{ kind: 'url', id: type, value_redacted: why.slice(0, 80) }],
  signatures_version: '',
  challenge_waited_ms: 0,
  retry_after_seconds: null,
});
