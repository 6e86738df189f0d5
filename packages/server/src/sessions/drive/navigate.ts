import type { Block, Captcha, NavigateRequest } from '@berth/contract';
import { classifyPage, type PageClassification, type ProbedPage } from '@berth/reading';
import { NavigationError, PageError, type NavigationResult, type Page } from '@berth/devtools';
import { Deadline } from '@berth/lib/deadline.ts';
import type { Captchas } from '../captcha/captcha.ts';
import type { Clock } from '@berth/lib/clock.ts';
import { withoutCredentials } from '@berth/lib/text/urls.ts';
import type { Metering } from '../../accounts/metering/metering.ts';
import type { LiveSession, Machine, Sessions } from '../sessions/sessions.ts';
import { solveCaptcha, type SolveCaptchaResult } from './solve.ts';
import { tabIdOf } from './step-context.ts';

export interface NavigateResult {
  tabId: string;
  finalUrl: string;
  title: string;
  statusCode: number | null;
  durationMs: number;
  block: Block | null;
  captcha: Captcha;
  warnings: string[];
}

/** A finished navigation, for the listeners of `onNavigated`. */
export interface NavigationReport {
  owner: string;
  sessionId: string;
  region: string;
  kind: string;
  egress: { type: string; country: string | null; ip: string | null };
  url: string;
  startedAt: Date;
  durationMs: number;
  /** null when the navigation failed with `error`. */
  outcome: NavigationResult | null;
  error: NavigationError | null;
  block: Block | null;
}

export interface NavigateDeps {
  machine: Machine;
  session: LiveSession;
  clock: Clock;
  captchas: Captchas;
  metering: Pick<Metering, 'admit'>;
  sessions: Pick<Sessions, 'charge'>;
  report(navigated: NavigationReport): void;
}

type NavigateOptions = NavigateRequest & { owner: string };

/** Navigates, classifies the page and solves a captcha if configured. @throws NavigationError, TabNotFoundError, BrowserClosedError */
export async function navigate(deps: NavigateDeps, options: NavigateOptions, signal: AbortSignal): Promise<NavigateResult> {
  const { browser } = deps.machine;
  const tabId = tabIdOf(browser, options.tab_id);
  const startedAt = deps.clock.now();
  const { url, referer, wait_until: waitUntil, timeout_ms: timeoutMs, block_detection: strictness } = options;
  const deadline = new Deadline({ signal, timeoutMs, clock: deps.clock });
  const report = (result: Pick<NavigationReport, 'outcome' | 'error' | 'block'>): void =>
    deps.report({ ...toReportContext(deps, options), startedAt, durationMs: deadline.spentMs, ...result });
  let outcome: NavigationResult;
  try {
    outcome = await browser.navigate(tabId, { url, waitUntil, timeoutMs, referer }, { signal });
  } catch (error) {
    if (error instanceof NavigationError) report({ outcome: null, error, block: null });
    throw error;
  }
  const classify = (): Promise<PageClassification> =>
    classifyPage(toProbedPage(browser.page(tabId)), outcome, { strictness, leftMs: deadline.leftMs, signal });
  const first = await classify();
  const solveResult = first.captcha.present ? await solve(deps, tabId, deadline) : null;
  const { block, captcha, warnings, committed } = solveResult?.isSolved ? await classify() : first;
  if (solveResult?.warning) warnings.push(solveResult.warning);
  warnings.push(...loadWarnings(outcome));
  report({ outcome, error: null, block });
  const { finalUrl, title, statusCode } = committed ?? outcome;
  return { tabId, finalUrl, title, statusCode, durationMs: deadline.spentMs, block, captcha, warnings };
}

/** Warnings of a page that was not followed to where it leads, and of a body of which only a part came. */
export function loadWarnings({ leadsTo, bodyError }: Pick<NavigationResult, 'leadsTo' | 'bodyError'>): string[] {
  const warnings = leadsTo === null ? [] : [toLeadingWarning(leadsTo)];
  if (bodyError === null) return warnings;
  return [...warnings, bodyError === 'net::ERR_CONTENT_DECODING_FAILED' ? 'content_decoding_failed' : 'body_truncated'];
}

function toLeadingWarning(url: string): string {
  const parsed = URL.parse(url);
  return `redirect_not_followed:${parsed ? withoutCredentials(parsed) : url}`;
}

/** The page for block detection, which does not know the browser. */
export const toProbedPage = (page: Page): ProbedPage => ({
  timeoutScale: page.timeoutScale,
  evaluate: async <T>(source: string, options: Parameters<ProbedPage['evaluate']>[1]) => {
    try {
      return await page.call<T>(page.mainFrame(), source, [], options);
    } catch (error) {
      options.signal.throwIfAborted();
      if (error instanceof PageError) return null;
      throw error;
    }
  },
});

/** null when the session does not solve captchas or no time is left. */
async function solve(deps: NavigateDeps, tabId: string, { leftMs, signal }: Deadline): Promise<SolveCaptchaResult | null> {
  const { machine, session } = deps;
  const { mode, provider } = session.record.settings.captcha ?? { mode: 'detect' };
  if (mode !== 'solve' || leftMs <= 0) return null;
  return solveCaptcha(deps, { page: machine.browser.page(tabId), provider, leftMs, signal });
}

function toReportContext(
  { machine, session: { record } }: NavigateDeps,
  { owner, url }: NavigateOptions,
): Omit<NavigationReport, 'startedAt' | 'durationMs' | 'outcome' | 'error' | 'block'> {
  const { sessionId, region, settings } = record;
  const { type, ip, country } = machine.egress.stats();
  return { owner, sessionId, region, kind: settings.kind, egress: { type: type ?? 'direct', country, ip }, url };
}
