/** Why a page has nothing more to show, in words for the person before it. */
import { viewCloseCodes } from '@berth/contract/live-view';

export interface Ending {
  title: string;
  text: string;
  /** Whether to try again may help. */
  canRetry: boolean;
}

/** An ending, or `again` where the page should connect anew; undefined where this says nothing. */
export type Verdict = Ending | 'again' | undefined;

const deadLink: Ending = {
  title: 'This link is no longer valid',
  text: 'It has expired or was taken back, or the session is over. Ask whoever sent it for a new one.',
  canRetry: false,
};

const crashed: Ending = { title: 'The browser crashed', text: 'The session may recover. Try again in a moment.', canRetry: true };

const full: Ending = {
  title: 'Too many people are watching',
  text: 'The session has as many viewers as it may have. Try again when somebody has left.',
  canRetry: true,
};

const misunderstood: Ending = {
  title: 'This page is out of date',
  text: 'The service did not understand what the page said. Reload the page.',
  canRetry: true,
};

/** What the service says why a session is over. Others may be added: they are told as they are. */
const reasons: Readonly<Record<string, string>> = {
  requested: 'Its owner ended it.',
  idle_timeout: 'Nothing happened in it for a while, so it was ended.',
  max_lifetime: 'It reached its time limit.',
  admin: 'The operator ended it.',
  plan_limit: 'Its owner’s plan is used up for this month.',
  credits_exhausted: 'Its owner’s credits are used up.',
  start_failed: 'Its browser could not be started.',
  browser_crashed: 'Its browser crashed.',
  vm_lost: 'Its machine was lost.',
  worker_lost: 'The server that held it was lost.',
  out_of_memory: 'Its browser ran out of memory.',
  cdp_closed: 'The program that drove it has gone.',
  drained: 'The service is being maintained.',
};

/** `reason` is the service's word for it, where it gave one. */
function endOfSession(reason: string): Ending {
  const known = Object.hasOwn(reasons, reason) ? reasons[reason] : undefined;
  const text = known ?? (reason === '' ? 'There is nothing more to see.' : `Reason: ${reason.slice(0, 100)}.`);
  return { title: 'The session has ended', text, canRetry: false };
}

/** Words for the end of one person's watching. All others tell why the session is over. */
const verdicts: Readonly<Record<string, Verdict>> = {
  session_ended: endOfSession(''),
  unauthorized: deadLink,
  limit: full,
  bad_message: misunderstood,
  service_restart: 'again',
  // This page was asleep, as on a phone that was put away.
  not_watching: 'again',
};

/** What the service's last word means. */
export const verdictOfReason = (reason: string): Verdict => (Object.hasOwn(verdicts, reason) ? verdicts[reason] : endOfSession(reason));

/** What a socket's close code means, where there was no last word; undefined for a connection that was lost or never made. */
export function verdictOfClose(code: number): Verdict {
  switch (code) {
    case viewCloseCodes.session_ended:
      return endOfSession('');
    case viewCloseCodes.unauthorized:
      return deadLink;
    case viewCloseCodes.browser_crashed:
      return crashed;
    case viewCloseCodes.limit:
      return full;
    case viewCloseCodes.bad_message:
      return misunderstood;
    case viewCloseCodes.service_restart:
      return 'again';
    default:
      return undefined;
  }
}

/** What the status of the page's own address means; undefined where the link is good or may be soon. */
export function verdictOfStatus(status: number): Verdict {
  if (status === 401 || status === 403) return deadLink;
  if (status === 404 || status === 410) return endOfSession('');
  return undefined;
}
