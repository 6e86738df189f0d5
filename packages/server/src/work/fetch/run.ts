/** One fetch: attempts as the retry plan says, within the budget, each recorded. The last one is the result. */
import { setTimeout as sleep } from 'node:timers/promises';
import { ServiceError, type Block, type FetchResponse, type StrategyName, type WorkUsage } from '@berth/contract';
import type { SiteAttempt, RetryPlan } from '../selfheal/selfheal.ts';
import { createHttpClient, type HttpClient } from '@berth/egress';
import type { StartedWork, WorkRun } from '../engine/engine.ts';
import { addUsage, FetchAttempt, noUsage, type AttemptResult, type AttemptUsage, type RunDeps } from './attempt.ts';
import { createTimeoutError } from './errors.ts';
import { createCooldown, createOwnBlock } from './own-block.ts';
import { createPageResult } from './result.ts';
import { inSession, type FetchSpec } from './spec.ts';

export interface FetchRunResult extends Omit<AttemptResult, 'transport' | 'usage'> {
  attempts: FetchResponse['attempts'];
  resolvedBy: FetchResponse['resolved_by'];
  bytes: { in: number; out: number };
  usage: WorkUsage;
  timings: { queueMs: number; sessionMs: number; totalMs: number };
}

/** Time kept back from the attempts, for building the response. */
export const reserveMs = (totalMs: number): number => Math.min(300, totalMs * 0.1);

export class FetchRun implements StartedWork<FetchRunResult> {
  readonly #deps: RunDeps;
  #spec: FetchSpec;
  readonly #run: WorkRun;
  readonly #attempts: SiteAttempt[] = [];
  readonly #responseAttempts: FetchResponse['attempts'] = [];
  /** Usage of all attempts that have ended, the failed ones too. */
  readonly #usage = { ...noUsage };
  #attemptCount = 0;

  constructor(deps: RunDeps, spec: FetchSpec, run: WorkRun) {
    this.#deps = deps;
    this.#spec = spec;
    this.#run = run;
  }

  /** @throws ServiceError and ValidationError for what the caller or the operator has to fix, and the signal's reason. */
  async run(signal: AbortSignal): Promise<FetchRunResult> {
    const { request, owner, domain } = this.#spec;
    if (request.method !== 'GET' && request.method !== 'HEAD') await this.#run.touch();
    const disallowed = await this.#checkRobots(signal);
    if (disallowed) return this.#toRunResult(createOutcome(request.url, { block: disallowed }));
    const options = { enabled: this.#listStrategies(), ignoreCooldown: request.retry.ignore_cooldown, signal };
    const retryPlan = await this.#deps.selfHeal.begin(owner, domain, options);
    const { cooldown } = retryPlan;
    if (cooldown) return this.#toRunResult(createOutcome(request.url, { block: createCooldown(cooldown, this.#deps.clock.now()) }));
    return this.#toRunResult(await this.#inSession(signal, () => this.#runAttempts(retryPlan, signal)));
  }

  fail(error: unknown, isLate: boolean): FetchRunResult {
    if (!isLate) throw error;
    const { url, timeout_ms: timeoutMs } = this.#spec.request;
    return this.#toRunResult(createOutcome(url, { error: createTimeoutError(timeoutMs) }));
  }

  ended(): void {
    this.#deps.selfHeal.record({ attempts: this.#attempts });
  }

  /** A profile is that of a session, which all attempts share. */
  #inSession<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    if (!this.#spec.request.profile) return work();
    const sinceMs = this.#deps.clock.monotonicMs();
    return this.#run.inOwnSession(signal, () => {
      addUsage(this.#usage, { sessionMs: Math.round(this.#deps.clock.monotonicMs() - sinceMs) });
      this.#spec = inSession(this.#spec, this.#run.ownSessionId);
      return work();
    });
  }

  /** The block to return when robots.txt disallows the page; null when it may be fetched. */
  async #checkRobots(signal: AbortSignal): Promise<Block | null> {
    const { request, key } = this.#spec;
    if (!request.respect_robots) return null;
    const refusal = await this.#withHttpClient((client) =>
      this.#deps.robots.refusal(client, request.session_id ?? key, request.url, signal),
    );
    return refusal === null ? null : createOwnBlock('robots_disallowed', refusal);
  }

  /** Requests take the egress of the fetch: the session's own, or a route for plain HTTP. */
  async #withHttpClient<T>(work: (client: HttpClient) => Promise<T>): Promise<T> {
    const { sessions, httpRoutes, userAgent } = this.#deps;
    const { owner, request } = this.#spec;
    if (request.session_id === null) return httpRoutes.withRoute(this.#spec, ({ client }) => work(client));
    const { machine } = await sessions.running(owner, request.session_id);
    const client = createHttpClient(machine.egress, { userAgent });
    try {
      return await work(client);
    } finally {
      client.close();
    }
  }

  async #runAttempts(retryPlan: RetryPlan, signal: AbortSignal): Promise<AttemptResult> {
    const { max_attempts: attemptsMax } = this.#spec.request.retry;
    let next: { strategy: StrategyName; waitMs: number } | null = retryPlan.firstAttempt;
    let result: AttemptResult | null = null;
    for (let n = 1; next && n <= attemptsMax; n += 1) {
      await sleepFor(next.waitMs, signal);
      const before: AttemptResult | null = result;
      try {
        result = await this.#runAndRecord(next.strategy, n, signal);
      } catch (error) {
        if (!before || !isWithoutRoom(error)) throw error;
        this.#attemptCount -= 1;
        return before;
      }
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
      next = retryPlan.nextAttempt(failed, this.#run.budget.leftMs);
      // With less time than the one that timed out, the next attempt would only repeat it.
      if (next && result.error?.code === 'timeout' && this.#run.budget.leftMs - next.waitMs < this.#lastDurationMs) break;
    }
    if (!result) throw new Error('a fetch has at least one attempt');
    return result;
  }

  get #lastDurationMs(): number {
    return this.#responseAttempts.at(-1)?.duration_ms ?? 0;
  }

  async #runAndRecord(strategy: StrategyName, n: number, signal: AbortSignal): Promise<AttemptResult> {
    const { clock, selfHeal } = this.#deps;
    const { request, owner, domain } = this.#spec;
    const startedAt = clock.now();
    const startMs = clock.monotonicMs();
    this.#run.progress(n, request.retry.max_attempts, strategy);
    const attempt = (): Promise<AttemptResult> => this.#runAttempt(strategy, signal);
    const result = await (strategy === 'throttle' ? selfHeal.pace(owner, domain, signal, attempt) : attempt());
    const durationMs = Math.round(clock.monotonicMs() - startMs);
    this.#recordAttempt({ strategy, n, startedAt, durationMs }, result);
    return result;
  }

  async #runAttempt(strategy: StrategyName, signal: AbortSignal): Promise<AttemptResult> {
    this.#attemptCount += 1;
    const result = await new FetchAttempt(this.#deps, this.#spec, { strategy, run: this.#run }).run(signal);
    addUsage(this.#usage, result.usage);
    return result;
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
    const { request, policy, kind } = this.#spec;
    const { captchas, runtime } = this.#deps;
    const { configured } = captchas;
    const byBrowser = request.mode !== 'http';
    const hasDisplay = runtime.kinds.includes('full_browser');
    return [
      'direct',
      'wait_retry',
      'throttle',
      ...(policy && policy.upstreams.length > 1 ? (['rotate_egress'] as const) : []),
      ...(byBrowser && request.session_id === null && request.cookies.length > 0 ? (['fresh_context'] as const) : []),
      ...(byBrowser && hasDisplay && kind === 'headless' && request.session_id === null ? (['full_browser'] as const) : []),
      ...(byBrowser && configured.includes('http') ? (['captcha_provider'] as const) : []),
      // A person can only view the page of a session.
      ...(request.session_id !== null && configured.includes('human') ? (['human'] as const) : []),
    ];
  }

  #recordAttempt(
    { strategy, n, startedAt, durationMs }: { strategy: StrategyName; n: number; startedAt: Date; durationMs: number },
    result: AttemptResult,
  ): void {
    const { owner, domain, request, region, egressType } = this.#spec;
    const { page, error, status, transport, sessionId, usage } = result;
    const block = page.block?.blocked ? page.block : null;
    const used = transport?.egress;
    const egress = { type: used?.type ?? egressType, country: used?.country ?? null };
    const kind = strategy === 'full_browser' ? strategy : this.#spec.kind;
    this.#responseAttempts.push({
      n,
      started_at: startedAt.toISOString(),
      strategy,
      mode: transport?.mode ?? (request.mode === 'http' ? 'http' : 'browser'),
      egress,
      kind,
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
      jobId: this.#run.jobId,
      sessionId,
      region: region.code,
      egress: { ...egress, ip: used?.ip ?? null },
      kind,
      n,
      strategy,
      startedAt,
      durationMs,
      credits: this.#deps.metering.costOf(toCounts(1, usage)),
      outcome: toOutcome(result),
      reason: error?.reason ?? null,
      block,
      statusCode: page.statusCode,
    });
  }

  #toRunResult({ status, page, error, sessionId, transport }: AttemptResult): FetchRunResult {
    const last = this.#responseAttempts.at(-1);
    const { bytesIn, bytesOut, queueMs, sessionMs } = this.#usage;
    const counts = toCounts(this.#attemptCount, this.#usage);
    const isResolved = status === 'ok' && transport && last;
    return {
      status,
      page,
      error,
      sessionId,
      attempts: this.#responseAttempts,
      resolvedBy: isResolved ? { mode: transport.mode, strategy: last.strategy, reason: transport.reason } : null,
      bytes: { in: bytesIn, out: bytesOut },
      usage: this.#run.usageOf(counts),
      timings: { queueMs, sessionMs, totalMs: this.#run.budget.spentMs },
    };
  }
}

/** An action for each attempt, and one for each step that ran in it. */
const toCounts = (attempts: number, { steps, solves, bytesIn, bytesOut }: AttemptUsage): Omit<WorkUsage, 'credits'> => ({
  actions: attempts + steps,
  egress_bytes: bytesIn + bytesOut,
  captcha_solves: solves,
});

/** A retry in another kind of browser needs one more machine. Where there is no room for it, the attempt before stands. */
const isWithoutRoom = (error: unknown): boolean =>
  error instanceof ServiceError && (error.code === 'no_capacity' || error.code === 'concurrency_limit');

/** Any answer of a site is a success, a 404 too; a 5xx is not, because it may be retried. */
const toOutcome = ({ status, page }: AttemptResult): AttemptResult['status'] =>
  status === 'ok' && (page.statusCode ?? 0) >= 500 ? 'error' : status;

async function sleepFor(ms: number, signal: AbortSignal): Promise<void> {
  if (ms > 0) await sleep(ms, undefined, { signal }).catch(() => signal.throwIfAborted());
}

/** The outcome of a fetch that ends without an attempt's result. */
const createOutcome = (
  url: string,
  { block = null, error = null }: Partial<Pick<FetchResponse, 'block'> & Pick<AttemptResult, 'error'>>,
): AttemptResult => ({
  status: error ? 'error' : 'blocked',
  page: { ...createPageResult(url), block },
  error,
  sessionId: null,
  transport: null,
  usage: noUsage,
});
