import type { Block, Captcha, NavigateRequest } from '@berth/contract';
import { NavigationError, type NavigationOutcome } from '../browser/browser.ts';
import type { Captchas } from '../captcha/captcha.ts';
import type { Clock } from '../lib/clock.ts';
import type { Metering } from '../metering/metering.ts';
import type { LiveSession, Machine, Sessions } from '../sessions/sessions.ts';
import { solveCaptcha, type Solved } from './solve.ts';
import { judgePage, type Judgement } from './verdict.ts';
import { tabIdOf } from './world.ts';

export interface Navigation {
  tabId: string;
  finalUrl: string;
  title: string;
  statusCode: number | null;
  durationMs: number;
  block: Block | null;
  captcha: Captcha;
  warnings: string[];
}

/** A navigation as whoever learns from it needs it. */
export interface Navigated {
  owner: string;
  sessionId: string;
  region: string;
  kind: string;
  egress: { type: string; country: string | null; ip: string | null };
  url: string;
  startedAt: Date;
  durationMs: number;
  /** Null where it did not arrive; then `error` says why. */
  outcome: NavigationOutcome | null;
  error: NavigationError | null;
  block: Block | null;
}

export interface NavigateParts {
  machine: Machine;
  session: LiveSession;
  clock: Clock;
  captchas: Captchas;
  metering: Pick<Metering, 'admit'>;
  sessions: Pick<Sessions, 'charge'>;
  tell(navigated: Navigated): void;
}

type Order = NavigateRequest & { owner: string };

/** Goes there, and looks at what came. @throws NavigationError, TabNotFound, BrowserGone */
export async function navigate(parts: NavigateParts, order: Order, signal: AbortSignal): Promise<Navigation> {
  const { browser } = parts.machine;
  const tabId = tabIdOf(browser, order.tab_id);
  const startedAt = parts.clock.now();
  const startMs = parts.clock.monotonicMs();
  const durationMs = (): number => Math.round(parts.clock.monotonicMs() - startMs);
  const tell = (came: Pick<Navigated, 'outcome' | 'error' | 'block'>): void =>
    parts.tell({ ...placeOf(parts, order), startedAt, durationMs: durationMs(), ...came });
  const { url, referer, wait_until: waitUntil, timeout_ms: timeoutMs, block_detection: strictness } = order;
  let outcome: NavigationOutcome;
  try {
    outcome = await browser.navigate(tabId, { url, waitUntil, timeoutMs, referer }, { signal });
  } catch (error) {
    if (error instanceof NavigationError) tell({ outcome: null, error, block: null });
    throw error;
  }
  const judge = (): Promise<Judgement> => judgePage(browser.page(tabId), outcome, { strictness, leftMs: timeoutMs - durationMs(), signal });
  const first = await judge();
  const solved = first.captcha.present ? await solve(parts, tabId, { leftMs: timeoutMs - durationMs(), signal }) : null;
  const { block, captcha, warnings, arrived } = solved?.isSolved ? await judge() : first;
  if (solved?.warning) warnings.push(solved.warning);
  tell({ outcome, error: null, block });
  const { finalUrl, title, statusCode } = arrived ?? outcome;
  return { tabId, finalUrl, title, statusCode, durationMs: durationMs(), block, captcha, warnings };
}

/** Only where the session was started to have captchas solved. */
async function solve(
  parts: NavigateParts,
  tabId: string,
  { leftMs, signal }: { leftMs: number; signal: AbortSignal },
): Promise<Solved | null> {
  const { machine, session } = parts;
  const { mode, provider } = session.record.settings.captcha ?? { mode: 'detect' };
  if (mode !== 'solve' || leftMs <= 0) return null;
  return solveCaptcha(parts, { page: machine.browser.page(tabId), provider, leftMs, signal });
}

function placeOf(
  { machine, session: { record } }: NavigateParts,
  { owner, url }: Order,
): Omit<Navigated, 'startedAt' | 'durationMs' | 'outcome' | 'error' | 'block'> {
  const { ip, country } = machine.way.facts();
  const { kind, proxy } = record.settings;
  return { owner, sessionId: record.sessionId, region: record.region, kind, egress: { type: proxy?.type ?? 'none', country, ip }, url };
}
