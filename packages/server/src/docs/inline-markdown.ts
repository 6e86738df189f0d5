/** Descriptions of the contract, which have code and links in the form of Markdown. */
import { Marked } from 'marked';
import { Markup, escapeHtml } from '@berth/lib/text/html.ts';

const markdown = new Marked({ gfm: true, renderer: { html: ({ text }) => escapeHtml(text) } });
/** Text in which Markdown finds nothing but text and code: nearly all of a page, which to parse took most of its time. */
const isPlain = /^[^[\]*_<>\\~!&]*$/;

/** HTML in the text is shown as text. */
export function inlineMarkdown(text: string): Markup {
  const parts = text.split('`');
  const outside = parts.filter((_, index) => index % 2 === 0);
  if (parts.length % 2 === 0 || !outside.every((part) => isPlain.test(part) && !/https?:|www\.|@/.test(part)) || text.includes('``'))
    return new Markup(markdown.parseInline(text, { async: false }));
  return new Markup(parts.map((part, index) => (index % 2 === 0 ? escapeHtml(part) : `<code>${escapeHtml(part)}</code>`)).join(''));
}
