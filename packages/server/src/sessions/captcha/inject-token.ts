/** Injects a token from a provider into the page and verifies that the page accepts it. */
import { setTimeout as sleep } from 'node:timers/promises';
import { PageError, type Page } from '@berth/devtools';
import { detectOrNull, detectTimeoutMs, type CaptchaDetection } from './detect.ts';
import { callbackScript, injectScript, clearScript } from './scripts.ts';
import { widgets } from './widgets.ts';

/** `no_response_field`: the page has neither a field nor a callback for the token. `token_rejected`: the page removed the token again. */
type InjectionResult = 'accepted' | 'no_response_field' | 'token_rejected';

/** How long to wait for the page to process the token. */
interface VerificationTiming {
  /** Interval before the first check, and between checks. */
  verifyIntervalMs: number;
  /** The time for a callback of the site, which may submit the form. */
  callbackMs: number;
}

export async function injectToken(
  page: Page,
  detection: CaptchaDetection,
  token: string,
  { signal, verifyIntervalMs, callbackMs }: VerificationTiming & { signal: AbortSignal },
): Promise<InjectionResult> {
  const { frameId, type, siteKey } = detection;
  const call = { signal, timeoutMs: detectTimeoutMs(page) };
  const injected = await page.call<{ filled: number; callback: string | null } | null>(
    frameId,
    injectScript,
    [widgets as never, type, siteKey, token],
    call,
  );
  if (injected === null) return 'no_response_field';
  const callback = await invokeCallback(page, detection, { token, name: injected.callback, signal });
  if (injected.filled === 0 && callback !== 'called') {
    await page.call(frameId, clearScript, [], call);
    return 'no_response_field';
  }
  const checksMax = callback === 'called' ? Math.ceil(callbackMs / verifyIntervalMs) : 1;
  return verifyInjection(page, detection, { checksMax, verifyIntervalMs: page.timeoutScale.ms(verifyIntervalMs), signal });
}

async function verifyInjection(
  page: Page,
  detection: CaptchaDetection,
  options: { checksMax: number; verifyIntervalMs: number; signal: AbortSignal },
): Promise<InjectionResult> {
  for (let check = 1, absences = 0; ; check += 1) {
    await sleep(options.verifyIntervalMs, undefined, { signal: options.signal });
    const current = await detectOrNull(page, options);
    if (current === null) continue;
    // A new document shows nothing at first: one absence proves nothing, two do.
    absences = isSameCaptcha(detection, current) ? 0 : absences + 1;
    if (absences >= 2) return 'accepted';
    if (absences > 0) continue;
    if (!current.answered) return 'token_rejected';
    if (check >= options.checksMax) return 'accepted';
  }
}

async function invokeCallback(
  page: Page,
  detection: CaptchaDetection,
  options: { token: string; name: string | null; signal: AbortSignal },
): Promise<'called' | 'threw' | 'none'> {
  const { signal, ...rest } = options;
  const expression = callbackScript({ type: detection.type ?? '', siteKey: detection.siteKey, ...rest });
  try {
    const result = await page.evaluate<string>(detection.frameId, expression, { signal, timeoutMs: detectTimeoutMs(page), maxBytes: 100 });
    // The page's own context computed this: treat any other value as untrusted.
    return result === 'called' || result === 'threw' ? result : 'none';
  } catch (error) {
    if (!(error instanceof PageError)) throw error;
    // A callback that navigates destroys the script's context; any other error is the page's own.
    return error.reason === 'context_lost' || error.reason === 'frame_detached' ? 'called' : 'threw';
  }
}

/** Whether both are the same captcha. An unknown site key matches any. */
export const isSameCaptcha = (before: CaptchaDetection, current: CaptchaDetection): boolean =>
  current.asks &&
  current.type === before.type &&
  (current.siteKey === before.siteKey || current.siteKey === null || before.siteKey === null);
