/** Scrolls through a page, so that lazily loaded content is there. */
import { systemClock } from '../../lib/clock.ts';
import type { Deadline } from './session.ts';
import type { ExecutionContexts } from './execution-contexts.ts';

/** Infinitely growing pages have no end to reach. */
const screensMax = 40;
const scrollMsMax = 10_000;
/** Images of one screen; slower ones are awaited once more at the end. */
const screenTimeoutMs = 1000;
const lastTimeoutMs = 2000;

interface ScrollState {
  /** Whether there is more content below. */
  more: boolean;
  height: number;
}

/** Waits for two animation frames, so that observers have run, then for the images in view. */
const waitForImages = `async (limitMs) => {
  const late = new Promise((resolve) => setTimeout(resolve, limitMs));
  const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
  await Promise.race([frame().then(frame), late]);
  const inView = ({ top, bottom, left, right }) => bottom > 0 && right > 0 && top < innerHeight && left < innerWidth;
  const images = [...document.images].filter((image) => inView(image.getBoundingClientRect())).slice(0, 500);
  await Promise.race([Promise.allSettled(images.map((image) => image.decode())), late]);
}`;

/** Waits for the images that are in view. @throws PageError */
export const waitForImagesInView = (contexts: ExecutionContexts, frameId: string, by: Deadline): Promise<unknown> =>
  contexts.call(frameId, waitForImages, [contexts.timeoutScale.ms(screenTimeoutMs, by.leftMs / 10)], {
    signal: by.signal,
    timeoutMs: by.leftMs,
  });

const scrollToScreen = `async (screen, limitMs) => {
  scrollTo({ left: scrollX, top: screen * innerHeight, behavior: 'instant' });
  await (${waitForImages})(limitMs);
  const { scrollHeight } = document.scrollingElement ?? document.documentElement;
  return { more: scrollY + innerHeight < scrollHeight - 1 && scrollY >= (screen - 1) * innerHeight, height: scrollHeight };
}`;

const restoreScroll = `async (x, y, limitMs) => {
  const late = new Promise((resolve) => setTimeout(resolve, limitMs));
  const images = [...document.images].filter((image) => image.currentSrc !== '' && !image.complete).slice(0, 500);
  await Promise.race([Promise.allSettled(images.map((image) => image.decode())), late]);
  scrollTo({ left: x, top: y, behavior: 'instant' });
  await (${waitForImages})(limitMs);
}`;

/** Returns the warning `page_keeps_growing` if the end was not reached. @throws PageError */
export async function scrollThrough(contexts: ExecutionContexts, frameId: string, by: Deadline): Promise<string[]> {
  const call = <T>(source: string, args: number[]): Promise<T> =>
    contexts.call<T>(frameId, source, args, { signal: by.signal, timeoutMs: by.leftMs });
  const [x = 0, y = 0] = await call<number[]>('() => [scrollX, scrollY]', []);
  const { timeoutScale } = contexts;
  const endsAt = systemClock.monotonicMs() + Math.min(timeoutScale.ms(scrollMsMax), by.leftMs / 2);
  // Leaves time for several screens, however slow one is.
  const screenMs = timeoutScale.ms(screenTimeoutMs, by.leftMs / 10);
  let screen = 0;
  let state: ScrollState = { more: true, height: 0 };
  try {
    while (state.more && screen < screensMax && systemClock.monotonicMs() < endsAt) {
      state = await call<ScrollState>(scrollToScreen, [screen, screenMs]);
      screen += 1;
    }
  } finally {
    // If the page hangs or navigates, the error of the loop is reported.
    await call(restoreScroll, [x, y, Math.min(timeoutScale.ms(lastTimeoutMs), by.leftMs / 4)]).catch(() => {});
  }
  return state.more ? ['page_keeps_growing'] : [];
}
