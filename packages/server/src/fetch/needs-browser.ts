/** Guesses from its HTML whether a page that was fetched over plain HTTP needs a browser. */
import type { Classification } from '../block-detection/block-detection.ts';

export type BrowserReason = 'needs_script' | 'blocked' | 'meta_refresh';

/** A page with this much text is complete without scripts. */
const readableChars = 400;
const headChars = 256 * 1024;

export function needsBrowser(html: string, { blocked }: Pick<Classification, 'blocked'>): BrowserReason | null {
  if (blocked) return 'blocked';
  const head = html.slice(0, headChars);
  if (/<meta[^>]{0,200}http-equiv\s*=\s*["']?refresh/i.test(head)) return 'meta_refresh';
  if (!/<script\b/i.test(head)) return null;
  const visible = countVisibleChars(head);
  if (visible >= readableChars && !isShell(head)) return null;
  return isShell(head) || visible < readableChars / 8 || asksForScript(head) ? 'needs_script' : null;
}

/** The empty root element that frameworks render into. */
const isShell = (html: string): boolean =>
  /<(div|main|section|app-root)\b[^>]{0,300}\bid\s*=\s*["']?(root|app|__next|__nuxt|svelte|main-app)["']?[^>]{0,300}>\s*<\/\1>/i.test(
    html,
  ) || /<app-root\b[^>]{0,300}>\s*<\/app-root>/i.test(html);

const asksForScript = (html: string): boolean =>
  /<noscript\b[^>]{0,200}>[\s\S]{0,2000}?(enable|requires?|need|turn on)[^<]{0,80}javascript/i.test(html);

/** A rough count of the characters outside markup, scripts and styles, in one pass. */
function countVisibleChars(html: string): number {
  const body = html.slice(Math.max(0, html.search(/<body\b/i)));
  const lower = body.toLowerCase();
  let count = 0;
  for (let at = 0; at < body.length;) {
    const open = body.indexOf('<', at);
    const text = body.slice(at, open < 0 ? body.length : open);
    count += text.replace(/\s+/g, ' ').trim().length;
    if (open < 0) break;
    const hidden = /^<(script|style|template|noscript|svg)\b/i.exec(body.slice(open, open + 12))?.[1];
    const end = hidden ? lower.indexOf(`</${hidden.toLowerCase()}`, open) : body.indexOf('>', open);
    if (end < 0) break;
    at = end + 1;
  }
  return count;
}
