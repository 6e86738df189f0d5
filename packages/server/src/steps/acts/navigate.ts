import { isBrowsable } from '@berth/contract';
import type { NavigationOutcome } from '../../browser/browser.ts';
import type { Attempt } from '../run/attempt.ts';
import { StepFailed } from '../context.ts';
import type { Act } from './act.ts';

/** What the navigation itself says when it is late tells more than that the step is. */
const marginMs = 50;

const order = <W>(attempt: Attempt, waitUntil: W) => ({ waitUntil, timeoutMs: Math.max(1, Math.round(attempt.remainingMs - marginMs)) });

const outputOf = ({ finalUrl, title, statusCode }: NavigationOutcome) => ({ final_url: finalUrl, title, status_code: statusCode });

export const navigate: Act<'navigate'> = async (attempt, { url, referer, wait_until }) => {
  for (const address of [url, referer])
    if (address !== undefined && !isBrowsable(address))
      throw new StepFailed('not_allowed', `The address ${address.slice(0, 200)} is no http or https address.`);
  const outcome = await attempt.page.navigate({ ...order(attempt, wait_until), url, referer }, { signal: attempt.signal });
  return outputOf(outcome);
};

const history =
  (by: -1 | 1): Act<'back'> & Act<'forward'> =>
  async (attempt, { wait_until }: { wait_until: Parameters<typeof order>[1] }) => {
    const outcome = await attempt.page.history(by, order(attempt, wait_until as 'load'), { signal: attempt.signal });
    if (outcome) return outputOf(outcome);
    attempt.warn('The history ends here.');
    return null;
  };
export const back = history(-1);
export const forward = history(1);

export const reload: Act<'reload'> = async (attempt, { wait_until }) => {
  return outputOf(await attempt.page.reload(order(attempt, wait_until), { signal: attempt.signal }));
};
