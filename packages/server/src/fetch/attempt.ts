/** One attempt: over plain HTTP, in a browser of its own, or in the caller's session. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { StrategyName } from '@berth/contract';
import type { CookieParam, PrivatePage } from '../browser/browser.ts';
import type { Captchas } from '../captcha/captcha.ts';
import type { Content } from '../content/content.ts';
import { HttpFailure } from '../egress/egress.ts';
import type { Clock } from '../lib/clock.ts';
import type { Metering, Ticket } from '../metering/metering.ts';
import type { SelfHeal } from '../selfheal/selfheal.ts';
import type { LiveSession, Machine, Sessions } from '../sessions/sessions.ts';
import { browse } from './browse.ts';
import type { HttpRoutes } from './http-routes.ts';
import type { FetchMachines, PageLease } from './machines.ts';
import type { Robots } from './robots.ts';
import type { Budget } from './budget.ts';
import type { FetchError, PageResult } from './result.ts';
import type { FetchSpec } from './spec.ts';
import { fetchPlain } from './plain.ts';
import { solveCaptcha, createStepContext, type SolveCaptchaResult } from '../drive/drive.ts';
import { StepFailed, type StepContext } from '../steps/steps.ts';

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
}

export interface Transport {
  mode: 'browser' | 'http';
  /** Why a browser took over from plain HTTP, or that none was needed. */
  reason: string | null;
  ip: string | null;
}

export interface AttemptResult {
  status: 'ok' | 'blocked' | 'error';
  page: PageResult;
  error: FetchError | null;
  sessionId: string | null;
  transport: Transport | null;
}

/** Charges a fetch to the meter of its last attempt. */
export type Charge = (ticket: Ticket, actions: number) => Promise<void>;

/** Limits of one attempt, and what it fills in even when it fails. */
export interface AttemptContext {
  budget: Budget;
  attemptMs: number;
  strategy: StrategyName;
  timings: { queueMs: number; sessionMs: number };
  bytes: { in: number; out: number };
  solves: { count: number };
  steps: { ran: number };
  sessionId?: string;
  transport?: Transport;
  charge?: Charge;
}

export async function runAttempt(deps: RunDeps, spec: FetchSpec, context: AttemptContext, signal: AbortSignal): Promise<AttemptResult> {
  const { request } = spec;
  if (request.session_id !== null) return attemptInSession(deps, spec, context, signal);
  if (request.mode === 'browser') return attemptInMachine(deps, spec, context, { reason: null, signal });
  const reason = request.mode === 'auto' ? toBrowserReason(request) : null;
  if (reason) return attemptInMachine(deps, spec, context, { reason, signal });
  const plain = await attemptPlain(deps, spec, context, signal);
  return typeof plain === 'string' ? attemptInMachine(deps, spec, context, { reason: plain, signal }) : plain;
}

/** Why the request needs a browser from the start; null when plain HTTP may do. */
function toBrowserReason({ formats, actions, wait_for: waitFor }: FetchSpec['request']): string | null {
  if (formats.includes('screenshot') || formats.includes('pdf') || formats.includes('har')) return 'needs_format';
  return actions.length > 0 || waitFor !== null ? 'needs_actions' : null;
}

/** The result, or why a browser has to take over. */
async function attemptPlain(deps: RunDeps, spec: FetchSpec, context: AttemptContext, signal: AbortSignal): Promise<AttemptResult | string> {
  const { request } = spec;
  return deps.httpRoutes.withRoute(spec, async ({ route, client, meter }) => {
    context.charge = (ticket, actions) => ticket.charge(meter, actions);
    if (context.strategy === 'rotate_egress') await route.rotate(signal);
    context.transport = { mode: 'http', reason: request.mode === 'auto' ? 'no_browser_needed' : null, ip: route.stats().ip };
    const count = (bytes: { in: number; out: number }): void => {
      context.bytes.in += bytes.in;
      context.bytes.out += bytes.out;
    };
    const options = { request, client, content: deps.content, budget: context.budget, timeoutMs: context.attemptMs };
    const { page, bytes, needsBrowser } = await fetchPlain(options, signal).catch((error: unknown) => {
      if (error instanceof HttpFailure) count({ in: error.progress.bytesIn, out: error.progress.bytesOut });
      throw error;
    });
    count(bytes);
    if (needsBrowser && request.mode === 'auto') return needsBrowser;
    return toAttemptResult(page, null, context.transport);
  });
}

async function attemptInMachine(
  deps: RunDeps,
  spec: FetchSpec,
  context: AttemptContext,
  { reason, signal }: { reason: string | null; signal: AbortSignal },
): Promise<AttemptResult> {
  const { clock } = deps;
  const startMs = clock.monotonicMs();
  return deps.machines.withPage(spec, signal, async (lease) => {
    context.timings.sessionMs += Math.round(clock.monotonicMs() - startMs);
    const stepContext = createPageStepContext(lease, deps);
    return attemptOnPage(deps, spec, context, { ...lease, stepContext, reason });
  });
}

async function attemptInSession(deps: RunDeps, spec: FetchSpec, context: AttemptContext, signal: AbortSignal): Promise<AttemptResult> {
  const { clock, sessions } = deps;
  const sessionId = spec.request.session_id ?? '';
  const startMs = clock.monotonicMs();
  return sessions.withBrowser(spec.owner, sessionId, { signal }, async (machine, driving, session) => {
    context.timings.queueMs += Math.round(clock.monotonicMs() - startMs);
    const { tabId } = machine.browser.activeTab();
    const page = machine.browser.borrow(tabId);
    try {
      return await attemptOnPage(deps, spec, context, {
        sessionId,
        page,
        machine,
        session,
        signal: driving,
        stepContext: createStepContext({ ...deps, machine, session }, tabId),
        reason: null,
      });
    } finally {
      await page.close();
    }
  });
}

interface PageAttemptOptions {
  sessionId: string;
  page: PrivatePage;
  machine: Machine;
  session: LiveSession;
  signal: AbortSignal;
  stepContext: StepContext;
  reason: string | null;
}

async function attemptOnPage(
  deps: RunDeps,
  spec: FetchSpec,
  context: AttemptContext,
  { sessionId, page, machine, session, signal, stepContext, reason }: PageAttemptOptions,
): Promise<AttemptResult> {
  const { request } = spec;
  context.sessionId = sessionId;
  context.charge = (ticket, actions) => deps.sessions.charge(session, ticket, actions);
  context.transport = { mode: 'browser', reason, ip: machine.egress.stats().ip };
  if (context.strategy === 'rotate_egress') await machine.egress.rotate(signal);
  const before = page.bytes();
  try {
    const result = await browse(
      {
        request,
        page,
        stepContext,
        content: deps.content,
        clock: deps.clock,
        budget: context.budget,
        attemptMs: Math.max(1, Math.min(context.attemptMs, context.budget.leftMs())),
        allowEvaluate: deps.allowEvaluate,
        cookies: context.strategy === 'fresh_context' ? [] : toCookies(request),
        solve: createSolver(deps, context, { page, session }),
        steps: context.steps,
      },
      signal,
    );
    return toAttemptResult(result, sessionId, context.transport);
  } finally {
    // CDP reports the last requests one tick after they were answered.
    await sleep(0);
    const after = page.bytes();
    context.bytes.in += after.in - before.in;
    context.bytes.out += after.out - before.out;
  }
}

const toCookies = ({ cookies, url }: FetchSpec['request']): CookieParam[] =>
  cookies.map(({ name, value, domain, path }) =>
    domain === undefined ? { name, value, url: new URL(path, url).href, path } : { name, value, domain, path },
  );

function createSolver(
  deps: RunDeps,
  { strategy, budget, solves }: AttemptContext,
  { page, session }: Pick<PageAttemptOptions, 'page' | 'session'>,
): ((signal: AbortSignal) => Promise<SolveCaptchaResult>) | null {
  if (strategy !== 'captcha_provider' && strategy !== 'human') return null;
  const provider = strategy === 'human' ? 'human' : 'http';
  return async (signal) => {
    const solved = await solveCaptcha({ ...deps, session }, { page: page.page, provider, leftMs: budget.leftMs(), signal });
    solves.count += solved.units;
    return solved;
  };
}

const toAttemptResult = (page: PageResult, sessionId: string | null, transport: Transport): AttemptResult => ({
  status: page.block?.blocked ? 'blocked' : 'ok',
  page,
  error: null,
  sessionId,
  transport,
});

/** A fetched page runs steps alone: no other tabs, no files, no downloads. */
function createPageStepContext({ page }: Pick<PageLease, 'page'>, { content, clock }: { content: Content; clock: Clock }): StepContext {
  const shown = page.page;
  return {
    mainTabId: shown.tabId,
    tabs: () => [{ tabId: shown.tabId, openerTabId: null, status: 'complete' }],
    page: () => shown,
    filePath: () => Promise.resolve(null),
    waitForDownload: () =>
      Promise.reject(new StepFailed('not_allowed', 'A fetch keeps no downloads. Request the format `raw`, or use a session.')),
    setCookie: (cookie, { signal }) => page.setCookies([cookie], { signal }),
    content,
    clock,
  };
}
