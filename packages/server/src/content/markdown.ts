/**
 * Markdown by mdream's WebAssembly build. A panic or stack overflow of its native
 * build would end the whole process, and thread limits do not apply to it. They
 * do apply to WebAssembly.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { isMainThread } from 'node:worker_threads';
import { htmlToMarkdownResult, initSync } from 'mdream/wasm';
import type { Warnings } from './model.ts';

initSync({ module: readFileSync(fileURLToPath(import.meta.resolve('mdream/wasm/mdream_edge_bg.wasm'))) });

/** Markdown has no definition lists, and mdream would output the tags. */
const tagOverrides = {
  dl: { enter: '', exit: '', spacing: [2, 2] },
  dt: { enter: '', exit: '', spacing: [1, 1] },
  dd: { enter: ': ', exit: '', spacing: [1, 1] },
};

/** Hidden elements that mdream can match itself. Titles are those of the page and of its SVGs. */
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
 * Whether mdream hides the same elements of a page as `dropHidden`. Then the page
 * need not be parsed first, which takes many times as long as the conversion.
 */
export const canSkipParsing = (html: string): boolean =>
  !/<(dialog|(html|body)\b[^<>]*\b(hidden|display))\b/i.test(html) &&
  (html.match(/display\s*:\s*none/gi) ?? []).every((declaration) => declaration === 'display:none' || declaration === 'display: none');

/** A long base URL in front of a million links would exhaust the memory. */
const growthCharsMax = 50_000_000;

/** Links and images become absolute, unless that exceeds the limit. */
export function toMarkdown(html: string, base: string | null, warnings: Warnings): string {
  const isTooLong = base !== null && absoluteLength(html, base) > growthCharsMax;
  if (isTooLong) warnings.add('links_left_relative');
  const options = { ...(base === null || isTooLong ? {} : { origin: base }), plugins: { tagOverrides, filter: { exclude } } };
  try {
    const { markdown } = htmlToMarkdownResult(html, options) as { markdown?: string };
    return (markdown ?? '').trim();
  } catch (error) {
    // A panic leaves the module's memory inconsistent: end the thread, so that the next page gets a new one.
    if (!isMainThread) process.exit(1);
    throw error;
  }
}

const absoluteLength = (html: string, base: string): number =>
  html.length * base.length < growthCharsMax ? 0 : (html.match(/\b(href|src)\b/gi)?.length ?? 0) * base.length;
