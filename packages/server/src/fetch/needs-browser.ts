/** Guesses from its outline whether a page that was fetched over plain HTTP needs a browser. */
import type { Classification, Outline } from '../block-detection/block-detection.ts';

export type BrowserReason = 'needs_script' | 'blocked' | 'meta_refresh';

/** A page with this much text is complete without scripts. */
const readableChars = 400;

export function needsBrowser(page: Omit<Outline, 'title'>, { blocked }: Pick<Classification, 'blocked'>): BrowserReason | null {
  if (blocked) return 'blocked';
  if (page.hasRefresh) return 'meta_refresh';
  if (!page.hasScript) return null;
  const { hasEmptyRoot, visibleChars, asksForScript } = page;
  if (visibleChars >= readableChars) return hasEmptyRoot ? 'needs_script' : null;
  return hasEmptyRoot || visibleChars < readableChars / 8 || asksForScript ? 'needs_script' : null;
}
