/** Captchas that an owner pays for, within its plan and its wallet. */
import { ServiceError, type CaptchaProviderName } from '@berth/contract';
import type { Page } from '../browser/browser.ts';
import type { CaptchaEvent, Captchas } from '../captcha/captcha.ts';
import type { Metering, Ticket } from '../metering/metering.ts';
import type { LiveSession, Sessions } from '../sessions/sessions.ts';

export interface SolveParts {
  captchas: Pick<Captchas, 'solve'>;
  metering: Pick<Metering, 'admit'>;
  sessions: Pick<Sessions, 'charge'>;
  session: LiveSession;
}

export interface SolveOrder {
  page: Page;
  /** Unset: whoever takes this type of captcha. */
  provider: CaptchaProviderName | undefined;
  leftMs: number;
  signal: AbortSignal;
}

export interface Solved {
  isSolved: boolean;
  /** Captchas that were charged. */
  units: number;
  /** Why nobody was asked, where it is the owner's plan or wallet. */
  warning: 'captcha_plan_limit' | 'captcha_no_credits' | null;
}

/** What is charged is charged a little after it was solved. */
const chargeMsMax = 60_000;

/** Nobody is asked who would not be paid. Throws the signal's reason. */
export async function solveCaptcha(parts: SolveParts, order: SolveOrder): Promise<Solved> {
  const ticket = await admit(parts, order.leftMs);
  if (typeof ticket === 'string') return { isSolved: false, units: 0, warning: ticket };
  try {
    const { units, result } = await ask(parts, order);
    await parts.sessions.charge(parts.session, ticket, units);
    return { isSolved: result === 'solved', units, warning: null };
  } catch (error) {
    await ticket.drop();
    throw error;
  }
}

async function admit({ metering, session }: SolveParts, leftMs: number): Promise<Ticket | NonNullable<Solved['warning']>> {
  try {
    return await metering.admit(session.record.owner, { axis: 'captcha', ttlMs: leftMs + chargeMsMax });
  } catch (error) {
    const refusal = error instanceof ServiceError ? refusals[error.code] : undefined;
    if (!refusal) throw error;
    return refusal;
  }
}

const refusals: Partial<Record<string, NonNullable<Solved['warning']>>> = {
  plan_limit_exceeded: 'captcha_plan_limit',
  insufficient_credits: 'captcha_no_credits',
};

function ask({ captchas, session }: SolveParts, { page, provider, leftMs, signal }: SolveOrder) {
  const tell = ({ type, data }: CaptchaEvent): void => session.events.tell(type, data);
  return captchas.solve(page, { provider, signal, deadlineMs: leftMs, tell, watch: session.captcha });
}
