/** Scrolls through a page as a reader does, so that what is loaded only when it is seen is there. */
import { systemClock } from '../../lib/clock.ts';
import type { Deadline } from './session.ts';
import type { Worlds } from './execution-contexts.ts';

/** Pages that add to themselves for ever have no end to reach. */
const mostScreens = 40;
const longestScrollMs = 10_000;
/** Pictures of one screen; those that come later are waited for once more at the end. */
const screenLimitMs = 1000;
const lastLimitMs = 2000;

interface Seen {
  /** Whether there is more below. */
  more: boolean;
  height: number;
}

/** Two frames, so that observers have run and what they started is known, then the pictures in view. */
const settle = `async (limitMs) => {
  const late = new Promise((resolve) => setTimeout(resolve, limitMs));
  const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
  await Promise.race([frame().then(frame), late]);
  const inView = ({ top, bottom, left, right }) => bottom > 0 && right > 0 && top < innerHeight && left < innerWidth;
  const images = [...document.images].filter((image) => inView(image.getBoundingClientRect())).slice(0, 500);
  await Promise.race([Promise.allSettled(images.map((image) => image.decode())), late]);
}`;

/** Waits for the pictures that are in view now. @throws PageError */
export const settleInView = (worlds: Worlds, frameId: string, by: Deadline): Promise<unknown> =>
  worlds.call(frameId, settle, [worlds.patience.ms(screenLimitMs, by.leftMs / 10)], { signal: by.signal, timeoutMs: by.leftMs });

const step = `async (screen, limitMs) => {
  scrollTo({ left: scrollX, top: screen * innerHeight, behavior: 'instant' });
  await (${settle})(limitMs);
  const { scrollHeight } = document.scrollingElement ?? document.documentElement;
  return { more: scrollY + innerHeight < scrollHeight - 1 && scrollY >= (screen - 1) * innerHeight, height: scrollHeight };
}`;

const restore = `async (x, y, limitMs) => {
  const late = new Promise((resolve) => setTimeout(resolve, limitMs));
  const images = [...document.images].filter((image) => image.currentSrc !== '' && !image.complete).slice(0, 500);
  await Promise.race([Promise.allSettled(images.map((image) => image.decode())), late]);
  scrollTo({ left: x, top: y, behavior: 'instant' });
  await (${settle})(limitMs);
}`;

/** Gives the warning `page_keeps_growing` where the end was not reached. @throws PageError */
export async function scrollThrough(worlds: Worlds, frameId: string, by: Deadline): Promise<string[]> {
  const call = <T>(source: string, args: number[]): Promise<T> =>
    worlds.call<T>(frameId, source, args, { signal: by.signal, timeoutMs: by.leftMs });
  const [x = 0, y = 0] = await call<number[]>('() => [scrollX, scrollY]', []);
  const { patience } = worlds;
  const endsAt = systemClock.monotonicMs() + Math.min(patience.ms(longestScrollMs), by.leftMs / 2);
  // Several screens come into the time, however long one may take.
  const screenMs = patience.ms(screenLimitMs, by.leftMs / 10);
  let screen = 0;
  let seen: Seen = { more: true, height: 0 };
  try {
    while (seen.more && screen < mostScreens && systemClock.monotonicMs() < endsAt) {
      seen = await call<Seen>(step, [screen, screenMs]);
      screen += 1;
    }
  } finally {
    // Where the page hung or moved on, that is what the caller is told.
    await call(restore, [x, y, Math.min(patience.ms(lastLimitMs), by.leftMs / 4)]).catch(() => {});
  }
  return seen.more ? ['page_keeps_growing'] : [];
}
