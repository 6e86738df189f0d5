/** One fetch: attempts as the retry plan says, within the budget, each recorded. The last one is the result. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Block, FetchResponse, StrategyName, WorkUsage } from '@berth/contract';
import type { Attempt, RetryPlan } from '../selfheal/selfheal.ts';
import { Budget } from './budget.ts';
import { toFetchError, createTimeoutError } from './errors.ts';
import { createPageResult, type FetchError, type PageResult } from './result.ts';
import type { FetchSpec } from './spec.ts';
import { runAttempt, type AttemptContext, type AttemptResult, type Charge, type RunDeps } from './attempt.ts';

export interface FetchRunResult {
  status: 'ok' | 'blocked' | 'error';
  page: PageResult;
  error: FetchError | null;
  sessionId: string | null;
  attempts: FetchResponse['attempts'];
  resolvedBy: FetchResponse['resolved_by'];
  bytes: { in: number; out: number };
  usage: WorkUsage;
  /** null when no attempt opened a route or a machine. */
  charge: Charge | null;
  timings: { queueMs: number; sessionMs: number; totalMs: number };
}

export interface RunContext {
  jobId: string | null;
  signal: AbortSignal;
  progress(step: number, total: number | null, note: string): void;
}

type AttemptStatus = AttemptResult['status'];

/** Kept back from the attempts for building the response. */
const reserveMs = (totalMs: number): number => Math.min(300, totalMs * 0.1);

export class FetchRun {
  readonly #deps: RunDeps;
  readonly #spec: FetchSpec;
  readonly #context: RunContext;
  readonly #budget: Budget;
  readonly #attempts: Attempt[] = [];
  readonly #responseAttempts: FetchResponse['attempts'] = [];
  readonly #bytes = { in: 0, out: 0 };
  readonly #timings = { queueMs: 0, sessionMs: 0 };
  readonly #solves = { count: 0 };
  readonly #steps = { ran: 0 };
  #attemptCount = 0;
  #charge: Charge | null = null;

  constructor(deps: RunDeps, spec: FetchSpec, context: RunContext) {
    this.#deps = deps;
    this.#spec = spec;
    this.#context = context;
    this.#budget = new Budget(deps.clock, spec.request.timeout_ms - reserveMs(spec.request.timeout_ms));
  }

  /** @throws ServiceError and ValidationError for what the caller or the operator has to fix, and the signal's reason. */
  async run(): Promise<FetchRunResult> {
    const { request, owner, domain } = this.#spec;
    const deadline = new AbortController();
    const timer = setTimeout(() => deadline.abort(new DeadlineExceeded()), request.timeout_ms);
    const signal = AbortSignal.any([this.#context.signal, deadline.signal]);
    try {
      const refusalBlock = await this.#checkRobots(signal);
      if (refusalBlock)
        return this.#toRunResult({
          status: 'blocked',
          page: { ...createPageResult(request.url), block: refusalBlock },
          error: null,
          sessionId: null,
          transport: null,
        });
      const retryPlan = await this.#deps.selfHeal.begin(owner, domain, {
        enabled: this.#listStrategies(),
        ignoreCooldown: request.retry.ignore_cooldown,
        signal,
      });
      if (retryPlan.cooldown) return this.#toRunResult(createCooldownResult(this.#spec, retryPlan.cooldown, this.#deps.clock.now()));
      return this.#toRunResult(await this.#runAttempts(retryPlan, signal));
    } catch (error) {
      this.#context.signal.throwIfAborted();
      if (!deadline.signal.aborted) throw error;
      return this.#toRunResult({
        status: 'error',
        page: createPageResult(request.url),
        error: createTimeoutError(request.timeout_ms),
        sessionId: null,
        transport: null,
      });
    } finally {
      clearTimeout(timer);
      this.#deps.selfHeal.record({ attempts: this.#attempts });
    }
  }

  /** The block to return when robots.txt disallows the page; null when it may be fetched. */
  async #checkRobots(signal: AbortSignal): Promise<Block | null> {
    const { request, key, policy } = this.#spec;
    if (!request.respect_robots || !policy) return null;
    const refusal = await this.#deps.httpRoutes.withRoute(this.#spec, ({ client }) =>
      this.#deps.robots.refusal(client, key, request.url, signal),
    );
    return refusal === null ? null : createOwnBlock('robots_disallowed', refusal);
  }

  async #runAttempts(retryPlan: RetryPlan, signal: AbortSignal): Promise<AttemptResult> {
    const { max_attempts: attemptsMax } = this.#spec.request.retry;
    let next: { strategy: StrategyName; waitMs: number } | null = retryPlan.firstAttempt;
    let result: AttemptResult | null = null;
    for (let n = 1; next && n <= attemptsMax; n += 1) {
      await sleepFor(next.waitMs, signal);
      const before: AttemptResult | null = result;
      result = await this.#runAndRecord(next.strategy, n, signal);
      // An attempt that timed out says less than the one before.
      if (before && result.error?.code === 'timeout' && before.status !== 'error') result = before;
      if (!this.#isWorthRetry(result)) break;
      const failed = {
        strategy: next.strategy,
        outcome: toOutcome(result),
        block: result.page.block,
        statusCode: result.page.statusCode,
        reason: result.error?.reason ?? undefined,
      };
      next = retryPlan.nextAttempt(failed, this.#budget.leftMs());
    }
    if (!result) throw new Error('a fetch has at least one attempt');
    return result;
  }

  async #runAndRecord(strategy: StrategyName, n: number, signal: AbortSignal): Promise<AttemptResult> {
    const { clock, selfHeal } = this.#deps;
    const { request, owner, domain } = this.#spec;
    const startedAt = clock.now();
    const startMs = clock.monotonicMs();
    this.#context.progress(n, request.retry.max_attempts, strategy);
    const attempt = (): Promise<AttemptResult> => this.#runAttempt(strategy, n, signal);
    const result = await (strategy === 'throttle' ? selfHeal.pace(owner, domain, signal, attempt) : attempt());
    const durationMs = Math.round(clock.monotonicMs() - startMs);
    this.#recordAttempt({ strategy, n, startedAt, durationMs }, result);
    return result;
  }

  async #runAttempt(strategy: StrategyName, n: number, signal: AbortSignal): Promise<AttemptResult> {
    const { request } = this.#spec;
    const leftMs = this.#budget.leftMs();
    // An attempt that took all of the time would leave none for a retry.
    const attemptMs =
      n < request.retry.max_attempts && request.retry.on.includes('timeout') ? Math.max(leftMs * 0.6, Math.min(leftMs, 15_000)) : leftMs;
    const context: AttemptContext = {
      budget: this.#budget,
      attemptMs,
      strategy,
      timings: this.#timings,
      bytes: this.#bytes,
      solves: this.#solves,
      steps: this.#steps,
    };
    this.#attemptCount += 1;
    try {
      return await runAttempt(this.#deps, this.#spec, context, signal);
    } catch (cause) {
      const isLate = signal.aborted && signal.reason instanceof DeadlineExceeded;
      if (signal.aborted && !isLate) throw signal.reason;
      const error = isLate ? createTimeoutError(request.timeout_ms) : toFetchError(cause);
      return {
        status: 'error',
        page: createPageResult(request.url),
        error,
        sessionId: context.sessionId ?? null,
        transport: context.transport ?? null,
      };
    } finally {
      this.#charge = context.charge ?? this.#charge;
    }
  }

  #isWorthRetry({ status, error, page }: AttemptResult): boolean {
    const { method, actions, retry } = this.#spec.request;
    const { on } = retry;
    // Not idempotent: the first request may have reached the site.
    if (method === 'POST' || method === 'PATCH') return false;
    if (actions.length > 0 && status !== 'blocked' && error?.code !== 'navigation_failed') return false;
    if (status === 'blocked') return on.includes('blocked');
    if (status === 'error') {
      // Another machine can be started; the caller's own session cannot be replaced.
      if (error?.reason === 'session_lost') return this.#spec.request.session_id === null;
      if (error?.reason === 'proxy_error') return on.includes('proxy_error');
      return error?.retryable === true && error.code !== 'no_capacity' && on.includes('timeout');
    }
    return (page.statusCode ?? 0) >= 500 && on.includes('5xx');
  }

  /** The strategies that this request and this service allow. */
  #listStrategies(): StrategyName[] {
    const { request, policy } = this.#spec;
    const { configured } = this.#deps.captchas;
    const byBrowser = request.mode !== 'http';
    return [
      'direct',
      'wait_retry',
      'throttle',
      ...(policy && policy.upstreams.length > 1 ? (['rotate_egress'] as const) : []),
      ...(byBrowser && request.session_id === null && request.cookies.length > 0 ? (['fresh_context'] as const) : []),
      ...(byBrowser && configured.includes('http') ? (['captcha_provider'] as const) : []),
      // A person can only view the page of a session.
      ...(request.session_id !== null && configured.includes('human') ? (['human'] as const) : []),
    ];
  }

  #recordAttempt(
    { strategy, n, startedAt, durationMs }: { strategy: StrategyName; n: number; startedAt: Date; durationMs: number },
    result: AttemptResult,
  ): void {
    const { owner, domain, request, region, egress } = this.#spec;
    const { page, error, status, transport, sessionId } = result;
    const block = page.block?.blocked ? page.block : null;
    this.#responseAttempts.push({
      n,
      started_at: startedAt.toISOString(),
      strategy,
      mode: transport?.mode ?? (request.mode === 'http' ? 'http' : 'browser'),
      egress,
      kind: request.kind,
      status_code: page.statusCode,
      status,
      block_type: block?.type ?? null,
      error_code: error?.code ?? null,
      duration_ms: durationMs,
    });
    if (domain === '') return;
    this.#attempts.push({
      owner,
      domain,
      url: page.finalUrl,
      task: 'fetch',
      jobId: this.#context.jobId,
      sessionId,
      region: region.code,
      egress: { ...egress, ip: transport?.ip ?? null },
      kind: request.kind,
      n,
      strategy,
      startedAt,
      durationMs,
      outcome: toOutcome(result),
      block,
      statusCode: page.statusCode,
    });
  }

  #toRunResult({ status, page, error, sessionId, transport }: AttemptResult): FetchRunResult {
    const last = this.#responseAttempts.at(-1);
    const resolvedBy = transport && last ? { mode: transport.mode, strategy: last.strategy, reason: transport.reason } : null;
    return {
      status,
      page,
      error,
      sessionId,
      attempts: this.#responseAttempts,
      resolvedBy: status === 'ok' ? resolvedBy : null,
      bytes: this.#bytes,
      usage: this.#usage(),
      charge: this.#charge,
      timings: { ...this.#timings, totalMs: this.#budget.spentMs() },
    };
  }

  /** An action for each attempt, and one for each step that ran in it. */
  #usage(): WorkUsage {
    const { in: bytesIn, out: bytesOut } = this.#bytes;
    const counts = { actions: this.#attemptCount + this.#steps.ran, egress_bytes: bytesIn + bytesOut, captcha_solves: this.#solves.count };
    return { ...counts, credits: this.#deps.metering.costOf(counts) };
  }
}

/** The request's `timeout_ms` has passed. */
class DeadlineExceeded extends Error {}

/** Any answer of a site is a success, a 404 too; a 5xx is not, because it may be retried. */
const toOutcome = ({ status, page }: AttemptResult): AttemptStatus => (status === 'ok' && (page.statusCode ?? 0) >= 500 ? 'error' : status);

async function sleepFor(ms: number, signal: AbortSignal): Promise<void> {
  if (ms > 0) await sleep(ms, undefined, { signal }).catch(() => signal.throwIfAborted());
}

function createCooldownResult({ request }: FetchSpec, { until, vendor }: NonNullable<RetryPlan['cooldown']>, now: Date): AttemptResult {
  const seconds = Math.max(1, Math.ceil((until.getTime() - now.getTime()) / 1000));
  const block: Block = { ...createOwnBlock('cooldown', `left alone until ${until.toISOString()}`), vendor, retry_after_seconds: seconds };
  return { status: 'blocked', page: { ...createPageResult(request.url), block }, error: null, sessionId: null, transport: null };
}

/** A block by this service's own rules, not by the site. */
const createOwnBlock = (type: 'robots_disallowed' | 'cooldown', detail: string): Block => ({
  blocked: true,
  type,
  vendor: 'unknown',
  confidence: 'high',
  evidence: [{ kind: 'url', id: type, value_redacted: detail.slice(0, 80) }],
  signatures_version: '',
  challenge_waited_ms: 0,
  retry_after_seconds: null,
});
