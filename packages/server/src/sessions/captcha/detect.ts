/** Detects the captcha of a page by its widgets, in any of the page's own frames. */
import type { BlockVendor, CaptchaType } from '@berth/contract';
import { PageError, type FrameRef, type Page } from '@berth/devtools';
import type { CaptchaInfo } from '@berth/page-scripts/captcha-widgets.ts';
import { detectScript } from './scripts.ts';
import { turnstileHost, turnstileKeyInAddress, vendorHosts, widgets } from './widgets.ts';

export interface CaptchaDetection {
  present: boolean;
  vendor: BlockVendor | null;
  type: CaptchaType | null;
  siteKey: string | null;
  /** Whether a visitor sees the widget or its puzzle. */
  visible: boolean;
  action: string | null;
  data: string | null;
  /** Whether it asks the visitor for anything. A script that only scores visitors does not, nor one that has drawn nothing yet. */
  asks: boolean;
  /** Whether the page holds its token. */
  answered: boolean;
  /** The frame that holds the widget. */
  frameId: string;
  frameUrl: string;
}

/** A page that does not answer in this time is busy. */
const detectMs = 5000;
const frameTimeoutMs = 1000;
/** A request for the captcha state waits this long. */
const detectMsMax = 15_000;
const resultBytesMax = 16 * 1024;
/** A captcha is in the page or in the frame of a form. A page with more frames than this is full of advertisements. */
const framesMax = 10;

/** @throws PageError when the main frame does not answer */
export async function detectCaptcha(page: Page, { signal }: { signal: AbortSignal }): Promise<CaptchaDetection> {
  const main = { id: page.mainFrame(), url: page.url() };
  const inMain = await detectInFrame(page, main, { signal, timeoutMs: detectTimeoutMs(page) });
  if (inMain?.asks && (inMain.siteKey !== null || inMain.type !== 'turnstile')) return inMain;
  const frames = await page.frames({ signal });
  if (inMain?.asks) return { ...inMain, siteKey: turnstileKey(frames) };
  return (await detectInFrames(page, frames, { signal })) ?? inMain ?? absent(main);
}

/** Null while the page does not answer: it hangs or navigates. */
export async function detectOrNull(page: Page, { signal }: { signal: AbortSignal }): Promise<CaptchaDetection | null> {
  try {
    return await detectCaptcha(page, { signal });
  } catch (error) {
    if (error instanceof PageError) return null;
    throw error;
  }
}

async function detectInFrames(
  page: Page,
  frames: readonly FrameRef[],
  { signal }: { signal: AbortSignal },
): Promise<CaptchaDetection | null> {
  const own = frames.filter(({ id, url }) => id !== page.mainFrame() && !vendorHosts.test(URL.parse(url)?.hostname ?? ''));
  const timeoutMs = page.timeoutScale.ms(frameTimeoutMs, detectMsMax / 5);
  for (const frame of own.slice(0, framesMax)) {
    try {
      const detection = await detectInFrame(page, frame, { signal, timeoutMs });
      if (detection?.asks) return detection;
    } catch (error) {
      // Frames come and go, and a visitor cannot use a frame that hangs.
      if (!(error instanceof PageError)) throw error;
    }
  }
  return null;
}

/** The timeout of one call into the page, in milliseconds. */
export const detectTimeoutMs = (page: Page): number => page.timeoutScale.ms(detectMs, detectMsMax);

async function detectInFrame(
  page: Page,
  frame: Pick<FrameRef, 'id' | 'url'>,
  options: { signal: AbortSignal; timeoutMs: number },
): Promise<CaptchaDetection | null> {
  const widget = await page.call<CaptchaInfo | null>(frame.id, detectScript, [widgets as never], { ...options, maxBytes: resultBytesMax });
  return widget && { present: true, ...widget, frameId: frame.id, frameUrl: frame.url };
}

/** Turnstile draws in a closed shadow root, but the address of its frame holds the key. */
function turnstileKey(frames: readonly FrameRef[]): string | null {
  const address = frames.find(({ url }) => url.startsWith(`https://${turnstileHost}/`))?.url ?? '';
  return new RegExp(turnstileKeyInAddress).exec(address)?.[1] ?? null;
}

const absent = (main: { id: string; url: string }): CaptchaDetection => ({
  present: false,
  vendor: null,
  type: null,
  siteKey: null,
  visible: false,
  action: null,
  data: null,
  asks: false,
  answered: false,
  frameId: main.id,
  frameUrl: main.url,
});
