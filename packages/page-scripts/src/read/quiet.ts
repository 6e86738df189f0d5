/**
 * Waits until a page that has loaded shows its content. Sent as text, see `page-scripts.ts`.
 *
 * An isolated context observes changes and frames, but no timers of the page.
 * All contexts of a document number their timers together, though, so it is
 * known whether the page has set any.
 */

export interface QuietOptions {
  /** How long after its load a page that uses timers may begin to show its content. */
  timersMs: number;
  /** A document is quiet after this long without a change. */
  quietMs: number;
  /** The limit, whatever the page does. */
  withinMs: number;
  /** The page has received something since its load: it counts as just loaded. */
  isFresh: boolean;
}

/** Resolves at once for a page without scripts, and for one that loaded longer ago than `timersMs`. */
export async function waitForQuiet({ timersMs, quietMs, withinMs, isFresh }: QuietOptions): Promise<void> {
  const timers = countTimers();
  if (!timers.hasOthers() && !hasScripts()) return;
  const endMs = performance.now() + withinMs;
  let changedMs = 0;
  const observer = new MutationObserver(() => (changedMs = performance.now()));
  observer.observe(document, { subtree: true, childList: true, characterData: true });
  try {
    await loaded(timers.pass(withinMs));
    const loadedMs = isFresh ? performance.now() : loadEndMs();
    if (performance.now() > loadedMs + timersMs) return;
    // Two frames: a callback of the first may ask for the second, and intersections are reported after a frame.
    await nextFrame(timers.pass(frameMsMax()));
    await nextFrame(timers.pass(frameMsMax()));
    await idle(frameMsMax());
    for (;;) {
      const timersEndMs = timers.hasOthers() ? loadedMs + timersMs : 0;
      const leftMs = Math.min(endMs, Math.max(timersEndMs, changedMs + quietMs)) - performance.now();
      if (leftMs <= 0) return;
      await timers.pass(leftMs);
    }
  } finally {
    observer.disconnect();
  }
}

/** The timers of this script, and whether anything else in the document has set one. */
export function countTimers(): { pass: (ms: number) => Promise<void>; hasOthers: () => boolean } {
  let own = 0;
  return {
    pass: (ms) => {
      own += 1;
      return new Promise((resolve) => setTimeout(resolve, ms));
    },
    hasOthers: () => {
      own += 1;
      const id = setTimeout(() => {}, 0) as unknown as number;
      clearTimeout(id);
      return id > own;
    },
  };
}

export function hasScripts(): boolean {
  const isCode = (script: Element): boolean =>
    /^\s*(|module|(text|application)\/(x-)?(java|ecma)script\s*(;.*)?)$/i.test(Element.prototype.getAttribute.call(script, 'type') ?? '');
  for (const script of Document.prototype.getElementsByTagName.call(document, 'script')) if (isCode(script)) return true;
  return false;
}

/** The end of the load on the clock of `performance.now()`; for a page that is still loading, now. */
export function loadEndMs(): number {
  const [navigation] = performance.getEntriesByType('navigation') as PerformanceNavigationTiming[];
  return navigation !== undefined && navigation.loadEventEnd > 0 ? navigation.loadEventEnd : performance.now();
}

export function loaded(timeout: Promise<void>): Promise<void> {
  const readyState = Object.getOwnPropertyDescriptor(Document.prototype, 'readyState')?.get;
  if (readyState?.call(document) === 'complete') return Promise.resolve();
  const load = new Promise<void>((resolve) => addEventListener('load', () => resolve(), { once: true }));
  return Promise.race([load, timeout]);
}

/** A page that is not drawn has no frames. */
export function frameMsMax(): number {
  return 100;
}

export function nextFrame(timeout: Promise<void>): Promise<void> {
  const frame = new Promise<void>((resolve) => requestAnimationFrame(() => resolve()));
  return Promise.race([frame, timeout]);
}

/** Runs after the page's own idle callbacks. */
export function idle(timeout: number): Promise<void> {
  return new Promise((resolve) => requestIdleCallback(() => resolve(), { timeout }));
}
