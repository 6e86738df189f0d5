/** Scrolls a page to its end, so that it loads what it loads late. */
import { PageError, type Page } from '@berth/devtools';

const scrollMsMax = 8000;

const scrollSource = `async (withinMs) => {
  const endMs = performance.now() + withinMs;
  for (let lastY = -1; performance.now() < endMs && scrollY !== lastY;) {
    lastY = scrollY;
    scrollBy(0, innerHeight * 0.8);
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  scrollTo(0, 0);
}`;

/** A page that does not answer is read as it is. @throws BrowserClosedError, or the signal's reason */
export async function scrollToEnd(page: Page, { signal, timeoutMs }: { signal: AbortSignal; timeoutMs: number }): Promise<void> {
  const withinMs = Math.min(scrollMsMax, timeoutMs);
  try {
    await page.call(page.mainFrame(), scrollSource, [withinMs], { signal, timeoutMs: Math.max(1, withinMs + 1000) });
  } catch (error) {
    if (!(error instanceof PageError)) throw error;
  }
}
