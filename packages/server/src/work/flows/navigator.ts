/** The navigations of a run: each is classified, retried once where the site's retry plan says so, and recorded. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Block, StrategyName } from '@berth/contract';
import { classifyPage } from '@berth/reading';
import { NavigationError, type NavigationRequest, type NavigationResult, type Page, StepError } from '@berth/devtools';
import type { FlowNavigator } from '@berth/flows';
import { Deadline } from '@berth/lib/deadline.ts';
import { toProbedPage } from '../../sessions/drive/drive.ts';
import { createCooldown } from '../fetch/fetch.ts';
import type { Clock } from '@berth/lib/clock.ts';
import { domainOf, type SiteAttempt, type RetryPlan, type SelfHeal } from '../selfheal/selfheal.ts';

type Failure = Parameters<RetryPlan['nextAttempt']>[0];

/** What all navigations of a run have in common. */
export type RunOrigin = Pick<SiteAttempt, 'owner' | 'task' | 'jobId' | 'sessionId' | 'region' | 'egress' | 'kind' | 'credits'>;

export interface NavigatorDeps {
  selfHeal: Pick<SelfHeal, 'begin' | 'record'>;
  clock: Clock;
}

const attemptsMax = 2;
const strategies: readonly StrategyName[] = ['direct', 'wait_retry'];

export class Navigator implements FlowNavigator {
  /** What blocked the last page; null if nothing did. */
  block: Block | null = null;
  title = '';
  readonly #deps: NavigatorDeps;
  readonly #origin: RunOrigin;

  constructor(deps: NavigatorDeps, origin: RunOrigin) {
    this.#deps = deps;
    this.#origin = origin;
  }

  /** @throws StepError `blocked`, NavigationError, PageError */
  async navigate(page: Page, request: NavigationRequest, { signal }: { signal: AbortSignal }): Promise<NavigationResult> {
    const { selfHeal, clock } = this.#deps;
    const deadline = new Deadline({ signal, timeoutMs: request.timeoutMs, clock });
    const domain = domainOf(request.url);
    const plan = await selfHeal.begin(this.#origin.owner, domain, { enabled: strategies, ignoreCooldown: false, signal });
    if (plan.cooldown) throw this.#blocked(createCooldown(plan.cooldown, clock.now()));
    let strategy: StrategyName = 'direct';
    for (let n = 1; ; n += 1) {
      const { result, block } = await this.#attempt(
        page,
        { ...request, timeoutMs: deadline.rest().timeoutMs },
        { n, strategy, domain, signal },
      );
      this.block = block;
      if (block?.blocked !== true) return result;
      const failed: Failure = { strategy, outcome: 'blocked', block, statusCode: result.statusCode };
      const next: ReturnType<RetryPlan['nextAttempt']> = n < attemptsMax ? plan.nextAttempt(failed, deadline.rest().timeoutMs) : null;
      if (!next) throw this.#blocked(block);
      await sleep(next.waitMs, undefined, { signal }).catch(() => signal.throwIfAborted());
      ({ strategy } = next);
    }
  }

  /** Whether the page that is shown is a block page: one may come by a click, too. */
  async check(page: Page, options: { leftMs: number; signal: AbortSignal }): Promise<void> {
    const response = { finalUrl: page.url(), title: '', statusCode: 200, headers: {}, cookieNames: [] };
    const { block } = await classifyPage(toProbedPage(page), response, { strictness: 'default', ...options });
    if (block?.blocked === true) this.block = block;
  }

  #blocked(block: Block): StepError {
    this.block = block;
    return new StepError('navigation_failed', `The page is blocked (${block.type}).`);
  }

  async #attempt(
    page: Page,
    request: NavigationRequest,
    { n, strategy, domain, signal }: { n: number; strategy: StrategyName; domain: string; signal: AbortSignal },
  ): Promise<{ result: NavigationResult; block: Block | null }> {
    const { clock, selfHeal } = this.#deps;
    const startedAt = clock.now();
    const deadline = new Deadline({ signal, timeoutMs: request.timeoutMs, clock });
    const record = (outcome: SiteAttempt['outcome'], details: Pick<SiteAttempt, 'block' | 'statusCode' | 'reason'>): void => {
      if (domain === '') return;
      const attempt = {
        ...this.#origin,
        domain,
        url: request.url,
        n,
        strategy,
        startedAt,
        durationMs: deadline.spentMs,
        outcome,
        ...details,
      };
      selfHeal.record({ attempts: [attempt] });
    };
    try {
      const result = await page.navigate(request, { signal });
      const { finalUrl, statusCode } = result;
      const leftMs = deadline.rest().timeoutMs;
      const { block, committed } = await classifyPage(toProbedPage(page), result, { strictness: 'default', leftMs, signal });
      const isBlocked = block?.blocked === true;
      record(isBlocked ? 'blocked' : (statusCode ?? 0) < 500 ? 'ok' : 'error', {
        block: isBlocked ? block : null,
        statusCode,
        reason: null,
      });
      const shown = { finalUrl, title: result.title, statusCode, ...committed };
      this.title = shown.title;
      return { result: { ...result, ...shown }, block };
    } catch (error) {
      // A file is as good an answer as a page.
      if (error instanceof NavigationError)
        record(error.reason === 'download' ? 'ok' : 'error', { block: null, statusCode: null, reason: error.reason });
      throw error;
    }
  }
}
