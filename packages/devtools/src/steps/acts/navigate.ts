import { isBrowsable } from '@berth/contract';
import type { NavigationResult } from '../../browser/browser.ts';
import type { StepAttempt, Act } from '../run/attempt.ts';
import { StepError } from '../context.ts';

/** Lets the navigation time out before the step, because its error says more. */
const marginMs = 50;

const navigationOptions = <W>(attempt: StepAttempt, waitUntil: W) => ({
  waitUntil,
  timeoutMs: Math.max(1, Math.round(attempt.leftMs - marginMs)),
});

const outputOf = ({ finalUrl, title, statusCode }: NavigationResult) => ({ final_url: finalUrl, title, status_code: statusCode });

export const navigate: Act<'navigate'> = async (attempt, { url, referer, wait_until }) => {
  for (const address of [url, referer])
    if (address !== undefined && !isBrowsable(address))
      throw new StepError('not_allowed', `The URL ${address.slice(0, 200)} is not an http or https URL.`);
  const { context, page, signal } = attempt;
  const request = { ...navigationOptions(attempt, wait_until), url, referer };
  return outputOf(await (context.navigate ? context.navigate(page, request, { signal }) : page.navigate(request, { signal })));
};

const history =
  (by: -1 | 1): Act<'back'> & Act<'forward'> =>
  async (attempt, { wait_until }: { wait_until: Parameters<typeof navigationOptions>[1] }) => {
    const result = await attempt.page.history(by, navigationOptions(attempt, wait_until as 'load'), { signal: attempt.signal });
    if (result) return outputOf(result);
    attempt.warn('There is no further history entry.');
    return null;
  };
export const back = history(-1);
export const forward = history(1);

export const reload: Act<'reload'> = async (attempt, { wait_until }) => {
  return outputOf(await attempt.page.reload(navigationOptions(attempt, wait_until), { signal: attempt.signal }));
};
