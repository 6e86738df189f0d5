/** Guesses from its outline whether a page that was fetched over plain HTTP needs a browser. */
import type { Classification, Outline } from '@berth/reading';

export type BrowserReason = 'needs_script' | 'blocked' | 'meta_refresh';

/** A page with this much text is complete without scripts. */
const readableChars = 400;

export function needsBrowser(page: Omit<Outline, 'title' | 'base'>, { blocked }: Pick<Classification, 'blocked'>): BrowserReason | null {
  if (blocked) return 'blocked';
  if (page.refreshes.length > 0) return 'meta_refresh';
  if (!page.hasScript) return null;
  const { hasEmptyRoot, visibleChars, asksForScript } = page;
  if (leadsOn(page)) return 'needs_script';
  if (visibleChars >= readableChars) return hasEmptyRoot ? 'needs_script' : null;
  return hasEmptyRoot || visibleChars < readableChars / 8 || asksForScript ? 'needs_script' : null;
}

/** A stub says that its visitor is redirected, and where to click if not. */
const stubChars = 200;

/** Whether a page has little to read, nothing to fill in, and a script that leads its visitor somewhere else. */
export const leadsOn = ({
  scriptTarget,
  visibleChars,
  hasControls,
}: Pick<Outline, 'scriptTarget' | 'visibleChars' | 'hasControls'>): boolean =>
  scriptTarget !== null && visibleChars < stubChars && !hasControls;
