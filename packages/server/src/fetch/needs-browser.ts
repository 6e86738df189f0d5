/** Whether a page that came without a browser is worth one: a pure guess from its HTML. */
import type { Verdict } from '../block-detection/block-detection.ts';

export type BrowserReason = 'needs_script' | 'blocked' | 'meta_refresh';

/** A page with this much to read was meant to be read as it came. */
const readableChars = 400;
const headChars = 256 * 1024;

export function needsBrowser(html: string, verdict: Verdict): BrowserReason | null {
  if (verdict.blocked) return 'blocked';
  const head = html.slice(0, headChars);
  if (/<meta[^>]{0,200}http-equiv\s*=\s*["']?refresh/i.test(head)) return 'meta_refresh';
  if (!/<script\b/i.test(head)) return null;
  const visible = visibleChars(head);
  if (visible >= readableChars && !isShell(head)) return null;
  return isShell(head) || visible < readableChars / 8 || asksForScript(head) ? 'needs_script' : null;
}

/** The empty element that frameworks fill. */
const isShell = (html: string): boolean =>
  /<(div|main|section|app-root)\b[^>]{0,300}\bid\s*=\s*["']?(root|app|__next|__nuxt|svelte|main-app)["']?[^>]{0,300}>\s*<\/\1>/i.test(
    html,
  ) || /<app-root\b[^>]{0,300}>\s*<\/app-root>/i.test(html);

const asksForScript = (html: string): boolean =>
  /<noscript\b[^>]{0,200}>[\s\S]{0,2000}?(enable|requires?|need|turn on)[^<]{0,80}javascript/i.test(html);

/** Letters outside of markup, scripts and styles: a rough count, in one pass. */
function visibleChars(html: string): number {
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
