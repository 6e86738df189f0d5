/** Which captcha a page shows, by its widgets in any of the page's own frames. */
import type { BlockVendor, CaptchaType } from '@berth/contract';
import { PageError, type FrameRef, type Page } from '../browser/browser.ts';
import type { FoundFacts } from '../page-scripts/captcha-widgets.ts';
import { lookScript } from './scripts.ts';
import { turnstileHost, turnstileKeyInAddress, vendorHosts, widgets } from './widgets.ts';

export interface CaptchaSight {
  present: boolean;
  vendor: BlockVendor | null;
  type: CaptchaType | null;
  siteKey: string | null;
  /** Whether a visitor sees the widget or its puzzle. */
  visible: boolean;
  action: string | null;
  data: string | null;
  /** Whether it asks a visitor for anything. A script that only scores visitors does not, nor one that has drawn nothing yet. */
  asks: boolean;
  /** Whether its answer is in the page. */
  answered: boolean;
  /** Where it stands. */
  frameId: string;
  frameUrl: string;
}

/** A page that needs longer to be looked at is busy with something else. */
const lookTimeoutMs = 5000;
const frameTimeoutMs = 1000;
/** Whoever asks for the state waits for this look. */
const lookMsMost = 15_000;
const answerBytesMax = 16 * 1024;
/** A captcha stands in the page or in the frame of a form: a page with more frames than this is full of advertisements. */
const framesMax = 10;

/** @throws PageError where the main frame cannot be asked. */
export async function look(page: Page, { signal }: { signal: AbortSignal }): Promise<CaptchaSight> {
  const main = { id: page.mainFrame(), url: page.url() };
  const inMain = await lookIn(page, main, { signal, timeoutMs: lookMs(page) });
  if (inMain?.asks && (inMain.siteKey !== null || inMain.type !== 'turnstile')) return inMain;
  const frames = await page.frames({ signal });
  if (inMain?.asks) return { ...inMain, siteKey: turnstileKey(frames) };
  return (await lookInFrames(page, frames, { signal })) ?? inMain ?? absent(main);
}

async function lookInFrames(page: Page, frames: readonly FrameRef[], { signal }: { signal: AbortSignal }): Promise<CaptchaSight | null> {
  const own = frames.filter(({ id, url }) => id !== page.mainFrame() && !vendorHosts.test(URL.parse(url)?.hostname ?? ''));
  const timeoutMs = page.patience.ms(frameTimeoutMs, lookMsMost / 5);
  for (const frame of own.slice(0, framesMax)) {
    try {
      const sight = await lookIn(page, frame, { signal, timeoutMs });
      if (sight?.asks) return sight;
    } catch (error) {
      // Frames come and go, and one that hangs is none that a visitor could answer in.
      if (!(error instanceof PageError)) throw error;
    }
  }
  return null;
}

/** How long the page is given for what is asked of it, or done in it, in one go. */
export const lookMs = (page: Page): number => page.patience.ms(lookTimeoutMs, lookMsMost);

async function lookIn(
  page: Page,
  frame: Pick<FrameRef, 'id' | 'url'>,
  options: { signal: AbortSignal; timeoutMs: number },
): Promise<CaptchaSight | null> {
  const found = await page.call<FoundFacts | null>(frame.id, lookScript, [widgets as never], { ...options, maxBytes: answerBytesMax });
  return found && { present: true, ...found, frameId: frame.id, frameUrl: frame.url };
}

/** Turnstile draws where the page's elements cannot be seen, but its frame is one of the page's. */
function turnstileKey(frames: readonly FrameRef[]): string | null {
  const address = frames.find(({ url }) => url.startsWith(`https://${turnstileHost}/`))?.url ?? '';
  return new RegExp(turnstileKeyInAddress).exec(address)?.[1] ?? null;
}

const absent = (main: { id: string; url: string }): CaptchaSight => ({
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
