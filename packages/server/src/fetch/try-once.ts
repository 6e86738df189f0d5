/** One attempt, by whichever way the order asks for. */
import type { StrategyName } from '@berth/contract';
import type { CookieOrder } from '../browser/browser.ts';
import { setTimeout as sleep } from 'node:timers/promises';
import { HttpFailure } from '../egress/egress.ts';
import type { Ticket } from '../metering/metering.ts';
import type { LiveSession, Machine } from '../sessions/sessions.ts';
import { browse } from './browse.ts';
import type { Budget } from './budget.ts';
import type { FetchFault, Found } from './found.ts';
import type { FetchOrder } from './order.ts';
import { fetchPlainly } from './plain.ts';
import type { RunDeps } from './deps.ts';
import { solveCaptcha, worldOf, type Solved } from '../drive/drive.ts';
import { privateWorld } from './world.ts';
import type { PrivatePage } from '../browser/browser.ts';
import type { StepWorld } from '../steps/steps.ts';

export interface Via {
  mode: 'browser' | 'http';
  /** Why a browser took over from plain HTTP, or that none was needed. */
  why: string | null;
  ip: string | null;
}

export interface Tried {
  status: 'ok' | 'blocked' | 'error';
  found: Found;
  fault: FetchFault | null;
  sessionId: string | null;
  via: Via | null;
}

/** Charges a fetch to where it was last. */
export type Charge = (ticket: Ticket, actions: number) => Promise<void>;

/** What an attempt uses up, and what is known of it even when it fails. */
export interface Use {
  budget: Budget;
  attemptMs: number;
  strategy: StrategyName;
  timings: { queueMs: number; sessionMs: number };
  bytes: { in: number; out: number };
  solves: { count: number };
  steps: { ran: number };
  sessionId?: string;
  via?: Via;
  charge?: Charge;
}

export async function tryOnce(deps: RunDeps, order: FetchOrder, use: Use, signal: AbortSignal): Promise<Tried> {
  const { request } = order;
  if (request.session_id !== null) return inSession(deps, order, use, signal);
  if (request.mode === 'browser') return inMachine(deps, order, use, { why: null, signal });
  const why = request.mode === 'auto' ? browserFirst(request) : null;
  if (why) return inMachine(deps, order, use, { why, signal });
  const plain = await plainly(deps, order, use, signal);
  return typeof plain === 'string' ? inMachine(deps, order, use, { why: plain, signal }) : plain;
}

/** What plain HTTP could not give at all. */
function browserFirst({ formats, actions, wait_for: waitFor }: FetchOrder['request']): string | null {
  if (formats.includes('screenshot') || formats.includes('pdf') || formats.includes('har')) return 'needs_format';
  return actions.length > 0 || waitFor !== null ? 'needs_actions' : null;
}

/** What came, or why a browser is to be asked instead. */
async function plainly(deps: RunDeps, order: FetchOrder, use: Use, signal: AbortSignal): Promise<Tried | string> {
  const { request } = order;
  return deps.ways.with(order, async ({ way, client, meter }) => {
    use.charge = (ticket, actions) => ticket.charge(meter, actions);
    if (use.strategy === 'other_egress') await way.rotate(signal);
    use.via = { mode: 'http', why: request.mode === 'auto' ? 'no_browser_needed' : null, ip: way.facts().ip };
    const count = (bytes: { in: number; out: number }): void => {
      use.bytes.in += bytes.in;
      use.bytes.out += bytes.out;
    };
    const parts = { request, client, content: deps.content, budget: use.budget, timeoutMs: use.attemptMs };
    const { found, bytes, needsBrowser } = await fetchPlainly(parts, signal).catch((error: unknown) => {
      if (error instanceof HttpFailure) count({ in: error.progress.bytesIn, out: error.progress.bytesOut });
      throw error;
    });
    count(bytes);
    if (needsBrowser && request.mode === 'auto') return needsBrowser;
    return toTried(found, null, use.via);
  });
}

async function inMachine(
  deps: RunDeps,
  order: FetchOrder,
  use: Use,
  { why, signal }: { why: string | null; signal: AbortSignal },
): Promise<Tried> {
  const { clock } = deps;
  const askedMs = clock.monotonicMs();
  return deps.machines.visit(order, signal, async (visit) => {
    use.timings.sessionMs += Math.round(clock.monotonicMs() - askedMs);
    const world = privateWorld(visit, deps);
    return withPage(deps, order, use, { ...visit, world, why });
  });
}

async function inSession(deps: RunDeps, order: FetchOrder, use: Use, signal: AbortSignal): Promise<Tried> {
  const { clock, sessions } = deps;
  const sessionId = order.request.session_id ?? '';
  const askedMs = clock.monotonicMs();
  return sessions.withBrowser(order.owner, sessionId, { signal }, async (machine, driving, session) => {
    use.timings.queueMs += Math.round(clock.monotonicMs() - askedMs);
    const { tabId } = machine.browser.activeTab();
    const page = machine.browser.borrow(tabId);
    try {
      return await withPage(deps, order, use, {
        sessionId,
        page,
        machine,
        session,
        signal: driving,
        world: worldOf({ ...deps, machine, session }, tabId),
        why: null,
      });
    } finally {
      await page.close();
    }
  });
}

interface PageUse {
  sessionId: string;
  page: PrivatePage;
  machine: Machine;
  session: LiveSession;
  signal: AbortSignal;
  world: StepWorld;
  why: string | null;
}

async function withPage(
  deps: RunDeps,
  order: FetchOrder,
  use: Use,
  { sessionId, page, machine, session, signal, world, why }: PageUse,
): Promise<Tried> {
  const { request } = order;
  use.sessionId = sessionId;
  use.charge = (ticket, actions) => deps.sessions.charge(session, ticket, actions);
  use.via = { mode: 'browser', why, ip: machine.way.facts().ip };
  if (use.strategy === 'other_egress') await machine.way.rotate(signal);
  const before = page.bytes();
  try {
    const found = await browse(
      {
        request,
        page,
        world,
        content: deps.content,
        clock: deps.clock,
        budget: use.budget,
        attemptMs: Math.max(1, Math.min(use.attemptMs, use.budget.leftMs())),
        allowEvaluate: deps.allowEvaluate,
        cookies: use.strategy === 'fresh_context' ? [] : cookiesOf(request),
        solve: solverOf(deps, use, { page, session }),
        steps: use.steps,
      },
      signal,
    );
    return toTried(found, sessionId, use.via);
  } finally {
    // The last requests are told of a moment after they were answered.
    await sleep(0);
    const after = page.bytes();
    use.bytes.in += after.in - before.in;
    use.bytes.out += after.out - before.out;
  }
}

const cookiesOf = ({ cookies, url }: FetchOrder['request']): CookieOrder[] =>
  cookies.map(({ name, value, domain, path }) =>
    domain === undefined ? { name, value, url: new URL(path, url).href, path } : { name, value, domain, path },
  );

function solverOf(
  deps: RunDeps,
  { strategy, budget, solves }: Use,
  { page, session }: Pick<PageUse, 'page' | 'session'>,
): ((signal: AbortSignal) => Promise<Solved>) | null {
  if (strategy !== 'captcha_provider' && strategy !== 'human') return null;
  const provider = strategy === 'human' ? 'human' : 'http';
  return async (signal) => {
    const solved = await solveCaptcha({ ...deps, session }, { page: page.page, provider, leftMs: budget.leftMs(), signal });
    solves.count += solved.units;
    return solved;
  };
}

const toTried = (found: Found, sessionId: string | null, via: Via): Tried => ({
  status: found.block?.blocked ? 'blocked' : 'ok',
  found,
  fault: null,
  sessionId,
  via,
});
