/** Solves captchas within the owner's plan and wallet. */
import { ServiceError, type CaptchaProviderName } from '@berth/contract';
import type { Page } from '@berth/devtools';
import type { CaptchaEvent, Captchas } from '../captcha/captcha.ts';
import type { Metering, Ticket } from '../../accounts/metering/metering.ts';
import type { LiveSession, Sessions } from '../sessions/sessions.ts';

export interface SolveDeps {
  captchas: Pick<Captchas, 'solve'>;
  metering: Pick<Metering, 'admit'>;
  sessions: Pick<Sessions, 'charge'>;
  session: LiveSession;
}

export interface SolveOptions {
  page: Page;
  /** Unset: any provider that supports the type of captcha. */
  provider: CaptchaProviderName | undefined;
  leftMs: number;
  signal: AbortSignal;
}

export interface SolveCaptchaResult {
  isSolved: boolean;
  /** Captchas charged. */
  units: number;
  /** Set when the plan or the wallet did not allow a solve. */
  warning: 'captcha_plan_limit' | 'captcha_no_credits' | null;
}

/** Time between a solve and its charge. */
const chargeMsMax = 60_000;

/** Admits the cost before a provider is called. @throws the signal's reason */
export async function solveCaptcha(deps: SolveDeps, options: SolveOptions): Promise<SolveCaptchaResult> {
  const ticket = await admit(deps, options.leftMs);
  if (typeof ticket === 'string') return { isSolved: false, units: 0, warning: ticket };
  try {
    const { units, result } = await runSolve(deps, options);
    await deps.sessions.charge(deps.session, ticket, units);
    return { isSolved: result === 'solved', units, warning: null };
  } catch (error) {
    await ticket.drop();
    throw error;
  }
}

async function admit({ metering, session }: SolveDeps, leftMs: number): Promise<Ticket | NonNullable<SolveCaptchaResult['warning']>> {
  try {
    return await metering.admit(session.record.owner, { axis: 'captcha', ttlMs: leftMs + chargeMsMax });
  } catch (error) {
    const warning = error instanceof ServiceError ? warningsByCode[error.code] : undefined;
    if (!warning) throw error;
    return warning;
  }
}

const warningsByCode: Partial<Record<string, NonNullable<SolveCaptchaResult['warning']>>> = {
  plan_limit_exceeded: 'captcha_plan_limit',
  insufficient_credits: 'captcha_no_credits',
};

function runSolve({ captchas, session }: SolveDeps, { page, provider, leftMs, signal }: SolveOptions) {
  const emit = ({ type, data }: CaptchaEvent): void => session.events.emit(type, data);
  return captchas.solve(page, { provider, signal, deadlineMs: leftMs, emit, watch: session.captcha });
}
