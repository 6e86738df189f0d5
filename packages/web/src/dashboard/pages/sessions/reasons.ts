/** Why a session ended, in the words of its owner. */
import type { SessionResponse } from '@berth/contract';

type EndedReason = NonNullable<SessionResponse['ended_reason']>;

interface ReasonWords {
  /** For a list, two or three words. */
  label: string;
  /** What happened, and what helps where something does. */
  text: string;
}

const reasons: Readonly<Record<EndedReason, ReasonWords>> = {
  requested: { label: 'Ended on request', text: 'You or a program with your key ended it.' },
  idle_timeout: {
    label: 'Idle too long',
    text: 'Nothing used it for its idle time. Create a session with a longer idle timeout if it has to wait.',
  },
  max_lifetime: { label: 'Time was up', text: 'It reached its maximum lifetime. Create a session with a longer timeout if it needs more.' },
  cdp_closed: {
    label: 'Client disconnected',
    text: 'The program that drove it disconnected. Create a session with “Keep alive” if it should go on without one.',
  },
  admin: { label: 'Ended by the operator', text: 'The operator of this service ended it.' },
  plan_limit: { label: 'Plan limit reached', text: 'Your plan has reached its limit for this month.' },
  credits_exhausted: { label: 'Out of credits', text: 'Your credits were used up. Redeem a code, or ask the operator.' },
  start_failed: { label: 'Did not start', text: 'Its browser could not be started. Try again.' },
  browser_crashed: {
    label: 'Browser crashed',
    text: 'Its browser crashed. Run it again; if a page causes it, report the page to the operator.',
  },
  browser_unresponsive: { label: 'Browser hung', text: 'Its browser did not respond any more and was stopped.' },
  out_of_memory: {
    label: 'Out of memory',
    text: 'Its pages needed more memory than a session may have. Open fewer or smaller pages at once.',
  },
  vm_lost: { label: 'Machine lost', text: 'The machine that it ran on stopped unexpectedly. Run it again.' },
  worker_lost: { label: 'Server lost', text: 'The server that it ran on stopped unexpectedly. Run it again.' },
  drained: { label: 'Maintenance', text: 'The service is being maintained. Run it again: it starts elsewhere.' },
};

const known = (reason: string | null): ReasonWords | undefined =>
  reason !== null && Object.hasOwn(reasons, reason) ? reasons[reason as EndedReason] : undefined;

/** Two or three words for a list; a reason that is newer than this page stands as it is. */
export const reasonLabel = (reason: string | null): string => known(reason)?.label ?? reason?.replaceAll('_', ' ') ?? 'Ended';

/** A sentence or two; what helps, where something does. */
export const reasonText = (reason: string | null): string => known(reason)?.text ?? 'The session has ended.';
