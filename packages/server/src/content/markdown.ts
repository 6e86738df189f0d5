/**
 * Markdown by mdream's WebAssembly build. Its native build would take the whole
 * process down where hostile markup makes it panic or overflow its stack, and no
 * limit of a thread stops it; this one is stopped like any script.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { isMainThread } from 'node:worker_threads';
import { htmlToMarkdownResult, initSync } from 'mdream/wasm';
import type { Warnings } from './warnings.ts';

initSync({ module: readFileSync(fileURLToPath(import.meta.resolve('mdream/wasm/mdream_edge_bg.wasm'))) });

/** Markdown has no definition lists, and mdream would leave them as tags. */
const tagOverrides = {
  dl: { enter: '', exit: '', spacing: [2, 2] },
  dt: { enter: '', exit: '', spacing: [1, 1] },
  dd: { enter: ': ', exit: '', spacing: [1, 1] },
};

/** What of the unseen mdream's own matcher knows. Titles are the page's and its drawings'. */
const exclude = [
  'script',
  'style',
  'template',
  'noscript',
  'noframes',
  'iframe',
  'title',
  'desc',
  '[hidden]',
  '[style*="display:none"]',
  '[style*="display: none"]',
];

/**
 * Whether mdream sees what is hidden in a page as `dropUnseen` does. Then the
 * page need not be parsed first, which takes many times as long as the rest.
 */
export const isPlainlyHidden = (html: string): boolean =>
  !/<(dialog|(html|body)\b[^>]*\b(hidden|display))\b/i.test(html) &&
  (html.match(/display\s*:\s*none/gi) ?? []).every((found) => found === 'display:none' || found === 'display: none');

/** A long address before each of a million links is more than any memory holds. */
const growthCharsMax = 50_000_000;

/** Links and images become absolute, unless they would grow the page beyond all measure. */
export function toMarkdown(html: string, base: string | null, warnings: Warnings): string {
  const isTooMuch = base !== null && growth(html, base) > growthCharsMax;
  if (isTooMuch) warnings.add('links_left_relative');
  const options = { ...(base === null || isTooMuch ? {} : { origin: base }), plugins: { tagOverrides, filter: { exclude } } };
  try {
    const { markdown } = htmlToMarkdownResult(html, options) as { markdown?: string };
    return (markdown ?? '').trim();
  } catch (error) {
    // A panic leaves the module's memory as it was in the middle of the work, so the thread ends and the next page gets another.
    if (!isMainThread) process.exit(1);
    throw error;
  }
}

const growth = (html: string, base: string): number =>
  html.length * base.length < growthCharsMax ? 0 : (html.match(/\b(href|src)\b/gi)?.length ?? 0) * base.length;
