/** Why a page has stopped, in words for its user. */
import { viewCloseCodes } from '@berth/contract/live-view';

export interface Ending {
  title: string;
  text: string;
  /** Whether a retry may help. */
  canRetry: boolean;
  /** Label of the pill, a word or two. Default: `Ended`. */
  label?: string;
}

/** An ending, or `reconnect`; undefined when the code or status does not decide. */
export type CloseDecision = Ending | 'reconnect' | undefined;

const invalidLink: Ending = {
  title: 'This link is no longer valid',
  text: 'It has expired or was revoked, or the session has ended. Ask the person who sent it for a new link.',
  canRetry: false,
  label: 'Not valid',
};

/** The service closes an open connection so only when the link or its API key was revoked: the session goes on. */
const revokedLink: Ending = {
  title: 'Your link was revoked',
  text: 'The session may still be running. To watch it again, ask the person who sent the link for a new one.',
  canRetry: false,
  label: 'Revoked',
};

const browserCrashed: Ending = {
  title: 'The browser crashed',
  text: 'The session may recover. Try again in a moment.',
  canRetry: true,
  label: 'Crashed',
};

const tooManyViewers: Ending = {
  title: 'Too many viewers',
  text: 'This session has reached its viewer limit. Try again when another viewer has left.',
  canRetry: true,
  label: 'Full',
};

const outdatedPage: Ending = {
  title: 'This page is out of date',
  text: 'The service did not accept a message of this page. Reload the page.',
  canRetry: true,
  label: 'Out of date',
};

/** End reasons of a session. Unknown ones are shown as they are. */
const reasons: Readonly<Record<string, string>> = {
  requested: 'Its owner ended it.',
  idle_timeout: 'It ended after being idle for too long.',
  max_lifetime: 'It reached its time limit.',
  admin: 'The operator ended it.',
  plan_limit: 'Its owner’s plan has reached its monthly limit.',
  credits_exhausted: 'Its owner has no credits left.',
  start_failed: 'Its browser could not be started.',
  browser_crashed: 'Its browser crashed.',
  browser_unresponsive: 'Its browser did not respond any more.',
  vm_lost: 'Its machine stopped unexpectedly.',
  worker_lost: 'Its server stopped unexpectedly.',
  out_of_memory: 'Its browser ran out of memory.',
  cdp_closed: 'The program that controlled it has disconnected.',
  drained: 'The service is being maintained.',
};

/** `reason` is the service's end reason, or an empty string. */
function endingForReason(reason: string): Ending {
  const knownText = Object.hasOwn(reasons, reason) ? reasons[reason] : undefined;
  const text = knownText ?? (reason === '' ? 'There is nothing more to see.' : `Reason: ${reason.slice(0, 100)}.`);
  return { title: 'The session has ended', text, canRetry: false };
}

/** Reasons that concern this connection. All others are end reasons of the session. */
const decisions: Readonly<Record<string, CloseDecision>> = {
  session_ended: endingForReason(''),
  unauthorized: revokedLink,
  limit: tooManyViewers,
  bad_message: outdatedPage,
  service_restart: 'reconnect',
  // The page was suspended, for example on a locked phone.
  not_watching: 'reconnect',
};

/** Decides by the reason of the service's last message. */
export const decisionForReason = (reason: string): CloseDecision =>
  Object.hasOwn(decisions, reason) ? decisions[reason] : endingForReason(reason);

/** Decides by a close code and its text, when there was no last message; undefined for a lost or failed connection. */
export function decisionForCloseCode(code: number, reason = ''): CloseDecision {
  switch (code) {
    case viewCloseCodes.session_ended:
      return decisionForReason(reason);
    case viewCloseCodes.unauthorized:
      return revokedLink;
    case viewCloseCodes.browser_crashed:
      return browserCrashed;
    case viewCloseCodes.limit:
      return tooManyViewers;
    case viewCloseCodes.bad_message:
      return outdatedPage;
    case viewCloseCodes.service_restart:
      return 'reconnect';
    default:
      return undefined;
  }
}

/** Decides by the HTTP status of the page's URL; undefined when the link is valid or may become valid. */
export function decisionForStatus(status: number): CloseDecision {
  if (status === 401 || status === 403) return invalidLink;
  if (status === 404 || status === 410) return endingForReason('');
  return undefined;
}
