/** An answer that came from outside, put into the page, and whether the page took it. */
import { setTimeout as sleep } from 'node:timers/promises';
import { PageError, type Page } from '../browser/browser.ts';
import { look, lookMs, type CaptchaSight } from './look.ts';
import { callbackScript, giveScript, takeBackScript } from './scripts.ts';
import { widgets } from './widgets.ts';

/** `no_place`: there is neither a field nor a callback that would have it. `not_taken`: the page has let it go again. */
export type Reception = 'taken' | 'no_place' | 'not_taken';

/** How long a page is given to do something with the answer. */
export interface Settling {
  /** Until the first look, and between looks. */
  settleMs: number;
  /** For a site's callback, which may send the form by itself. */
  callbackMs: number;
}

export async function giveAnswer(
  page: Page,
  sight: CaptchaSight,
  token: string,
  { signal, settleMs, callbackMs }: Settling & { signal: AbortSignal },
): Promise<Reception> {
  const { frameId, type, siteKey } = sight;
  const call = { signal, timeoutMs: lookMs(page) };
  const given = await page.call<{ filled: number; callback: string | null } | null>(
    frameId,
    giveScript,
    [widgets as never, type, siteKey, token],
    call,
  );
  if (given === null) return 'no_place';
  const called = await callBack(page, sight, { token, name: given.callback, signal });
  if (given.filled === 0 && called !== 'called') {
    await page.call(frameId, takeBackScript, [], call);
    return 'no_place';
  }
  const looks = called === 'called' ? Math.ceil(callbackMs / settleMs) : 1;
  return watchReception(page, sight, { looks, settleMs: page.patience.ms(settleMs), signal });
}

async function watchReception(
  page: Page,
  sight: CaptchaSight,
  options: { looks: number; settleMs: number; signal: AbortSignal },
): Promise<Reception> {
  for (let turn = 1, gone = 0; ; turn += 1) {
    await sleep(options.settleMs, undefined, { signal: options.signal });
    const after = await lookUnlessBusy(page, options);
    if (after === null) continue;
    // A document that has just begun shows nothing yet: only what stays away is gone.
    gone = isStill(sight, after) ? 0 : gone + 1;
    if (gone >= 2) return 'taken';
    if (gone > 0) continue;
    if (!after.answered) return 'not_taken';
    if (turn >= options.looks) return 'taken';
  }
}

async function callBack(
  page: Page,
  sight: CaptchaSight,
  order: { token: string; name: string | null; signal: AbortSignal },
): Promise<'called' | 'threw' | 'none'> {
  const { signal, ...rest } = order;
  const expression = callbackScript({ type: sight.type ?? '', siteKey: sight.siteKey, ...rest });
  try {
    const outcome = await page.evaluate<string>(sight.frameId, expression, { signal, timeoutMs: lookMs(page), maxBytes: 100 });
    // It was said in the page's own world, which may say anything.
    return outcome === 'called' || outcome === 'threw' ? outcome : 'none';
  } catch (error) {
    if (!(error instanceof PageError)) throw error;
    // A callback that moves the page on takes the script with it; anything else is the page's own fault.
    return error.reason === 'context_lost' || error.reason === 'frame_gone' ? 'called' : 'threw';
  }
}

/** Null while the page cannot be asked: it hangs, or is on its way to the next. */
export async function lookUnlessBusy(page: Page, { signal }: { signal: AbortSignal }): Promise<CaptchaSight | null> {
  try {
    return await look(page, { signal });
  } catch (error) {
    if (error instanceof PageError) return null;
    throw error;
  }
}

/** Whether it is the same captcha, as far as its key is known. */
export const isStill = (before: CaptchaSight, now: CaptchaSight): boolean =>
  now.asks && now.type === before.type && (now.siteKey === before.siteKey || now.siteKey === null || before.siteKey === null);
