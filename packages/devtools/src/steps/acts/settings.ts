import { NavigationError, PageError } from '../../browser/browser.ts';
import { StepError } from '../context.ts';
import type { StepAttempt, Act } from '../run/attempt.ts';
import { isBrowsable } from '@berth/contract';
import { click } from './pointer.ts';

export const dialog: Act<'dialog'> = async (_, { accept, text }, { dialogs }) => {
  dialogs.answer = { accept, text };
  return { seen: dialogs.take() };
};

export const setCookie: Act<'set_cookie'> = async (attempt, step) => {
  const { page, context, signal } = attempt;
  const pageUrl = page.url();
  const url = step.url ?? (step.domain === undefined ? pageUrl : undefined);
  if (url !== undefined && (!isBrowsable(url) || url === 'about:blank'))
    throw new StepError('invalid_value', 'A cookie needs a `url` or a `domain` when the page has no http or https URL.');
  const cookie = {
    name: step.name,
    value: step.value,
    url,
    domain: step.domain,
    path: step.path ?? (step.domain === undefined ? undefined : '/'),
    expires: step.expires,
    httpOnly: step.http_only,
    secure: step.secure,
    sameSite: step.same_site,
  };
  await context.setCookie(cookie, { signal, tabId: page.tabId });
};

/** Adds to the headers that earlier steps have set. */
export const setHeader: Act<'set_header'> = async (attempt, { name, value }, { headers }) => {
  const { page, signal } = attempt;
  if (value !== null && !/^[\t\x20-\x7e\x80-\xff]*$/.test(value))
    throw new StepError('invalid_value', 'The header value contains line breaks or other invalid characters.');
  if (name.toLowerCase() === 'referer' && value !== null && value !== '' && (!isBrowsable(value) || value === 'about:blank'))
    throw new StepError('invalid_value', 'The Referer must be an absolute http or https URL.');
  const others = Object.entries(headers.get(page.tabId) ?? {}).filter(([other]) => other.toLowerCase() !== name.toLowerCase());
  const all = Object.fromEntries(value === null ? others : [...others, [name, value]]);
  await page.setExtraHeaders(all, { signal });
  headers.set(page.tabId, all);
};

export const setViewport: Act<'set_viewport'> = async (attempt, { width, height, device_scale_factor }) => {
  await attempt.page.setViewport({ width, height, device_scale_factor }, { signal: attempt.signal });
};

export const download: Act<'download'> = async (attempt, step, scope) => {
  const trigger = (): Promise<unknown> => (step.url === undefined ? clickTarget(attempt, step, scope) : open(attempt, step.url));
  const result = await attempt.context.waitForDownload(async () => void (await trigger()), {
    signal: attempt.signal,
    timeoutMs: attempt.leftMs,
  });
  if (result.status !== 'completed')
    throw new StepError(
      result.status === 'too_large' ? 'too_large' : 'download_failed',
      `The download ended with status ${result.status}.`,
    );
  return { download_id: result.id, file_name: result.suggestedFilename, url: result.url, bytes: result.receivedBytes };
};

const clickTarget: Act<'download'> = (attempt, { selectors = [], ...step }, scope) =>
  click(attempt, { ...step, ...plainClick, selectors }, scope);
const plainClick = {
  type: 'click' as const,
  button: 'left' as const,
  count: 1,
  modifiers: [],
  delay_ms: 0,
  position: undefined,
  force: false,
};

/** A navigation to a download fails as one, which is the expected result. */
async function open(attempt: StepAttempt, url: string): Promise<void> {
  if (!isBrowsable(url)) throw new StepError('not_allowed', `The URL ${url.slice(0, 200)} is not an http or https URL.`);
  try {
    await attempt.page.navigate({ url, waitUntil: 'commit', timeoutMs: attempt.leftMs }, { signal: attempt.signal });
  } catch (error) {
    if (
      !(error instanceof NavigationError && (error.reason === 'download' || error.reason === 'aborted')) &&
      !(error instanceof PageError && error.reason === 'not_possible')
    )
      throw error;
    return;
  }
  throw new StepError('download_failed', 'The URL is a page and not a download.');
}
