/** Driving a session's browser over HTTP: navigate, tabs, another way out. */
import { ServiceError, type NavigateRequest, type OpenTabRequest } from '@berth/contract';
import { BrowserGone, LastTab, NavigationError, TabLimitReached, TabNotFound, type NavigationOutcome, type TabInfo } from '../browser/browser.ts';
import type { Rotation } from '../egress/egress.ts';
import type { Machine, Sessions } from '../sessions/sessions.ts';
import type { Clock } from '../lib/clock.ts';

export interface Target {
  owner: string;
  sessionId: string;
  signal: AbortSignal;
}

export class Drive {
  readonly #sessions: Sessions;
  readonly #clock: Clock;

  constructor(sessions: Sessions, clock: Clock) {
    this.#sessions = sessions;
    this.#clock = clock;
  }

  /** Throws ServiceError navigation_failed, tab_not_found and what any drive call throws. */
  navigate(target: Target, request: NavigateRequest): Promise<NavigationOutcome & { tabId: string; durationMs: number }> {
    return this.#withBrowser(target, async ({ browser }, signal) => {
      const tabId = request.tab_id ?? browser.activeTab().tabId;
      const startMs = this.#clock.monotonicMs();
      const outcome = await browser.navigate(tabId, toOrder(request, request.url), { signal });
      return { ...outcome, tabId, durationMs: Math.round(this.#clock.monotonicMs() - startMs) };
    });
  }

  /** Oldest first. A look, not a drive call: it waits for nobody. */
  async tabs(target: Target): Promise<TabInfo[]> {
    const { machine } = await this.#sessions.ready(target.owner, target.sessionId);
    return machine.browser.tabs();
  }

  /** Opens a tab, at a page when one is named. A page that cannot be reached leaves no tab behind. */
  openTab(target: Target, request: OpenTabRequest): Promise<TabInfo> {
    return this.#withBrowser(target, async ({ browser }, signal) => {
      const tab = await browser.openTab({ active: request.active, signal });
      if (request.url === undefined) return tab;
      try {
        await browser.navigate(tab.tabId, toOrder(request, request.url), { signal });
      } catch (error) {
        // The tab may be gone already, with the browser or by a script of the page.
        await browser.closeTab(tab.tabId, { signal: AbortSignal.timeout(closeMsMax) }).catch(() => undefined);
        throw error;
      }
      return browser.tabs().find((candidate) => candidate.tabId === tab.tabId) ?? tab;
    });
  }

  closeTab(target: Target, tabId: string): Promise<void> {
    return this.#withBrowser(target, ({ browser }, signal) => browser.closeTab(tabId, { signal }));
  }

  rotateIp(target: Target): Promise<Rotation> {
    return this.#withBrowser(target, ({ way }, signal) => way.rotate(signal));
  }

  async #withBrowser<T>(target: Target, work: (machine: Machine, signal: AbortSignal) => Promise<T>): Promise<T> {
    return await this.#sessions.withBrowser(target.owner, target.sessionId, { signal: target.signal }, async (machine, signal) => {
      try {
        return await work(machine, signal);
      } catch (error) {
        throw toServiceError(error);
      }
    });
  }
}

const closeMsMax = 2000;

const toOrder = (request: Omit<NavigateRequest, 'url'> | OpenTabRequest, url: string) => ({
  url,
  waitUntil: request.wait_until,
  timeoutMs: request.timeout_ms,
  referer: 'referer' in request ? request.referer : undefined,
});

/** What went wrong in the browser, as the caller is told it. */
function toServiceError(error: unknown): unknown {
  if (error instanceof NavigationError)
    return new ServiceError('navigation_failed', error.message, {
      cause: error,
      details: { reason: error.reason, net_error: error.netError },
      retryable: error.reason !== 'blocked_by_policy' && error.reason !== 'tls_error' && error.reason !== 'too_many_redirects',
    });
  if (error instanceof TabNotFound) return new ServiceError('tab_not_found', 'There is no such tab in this session.', { cause: error });
  if (error instanceof LastTab)
    return new ServiceError('last_tab', 'The last tab stays open: a session without a tab cannot be driven. End the session instead.', { cause: error });
  if (error instanceof TabLimitReached)
    return new ServiceError('tab_limit_reached', `This session may have ${error.limit} tabs. Close one first.`, {
      cause: error,
      details: { limit: error.limit },
    });
  if (error instanceof BrowserGone) return new ServiceError('session_lost', 'The session’s browser was lost during the call.', { cause: error });
  return error;
}
