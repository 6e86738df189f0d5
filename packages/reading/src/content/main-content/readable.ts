/**
 * Runs Readability over its own small DOM instead of a browser's: the page's tree
 * is written as the well-formed source that this DOM's parser expects.
 */
import { Readability } from '@mozilla/readability';
import JSDOMParser from '@mozilla/readability/JSDOMParser.js';
import { isElement, isText, nonTextTags, type Element, type Node } from '../dom.ts';
import { isNote } from './landmarks.ts';

/** Marks a heading of the first level: Readability makes all of them the second. */
export const headingMark = 'data-berth-h1';
/** A check box under a name that Readability does not remove. */
export const checkboxName = 'berth-checkbox';

const voidNames: ReadonlySet<string> = new Set('area base br col embed hr img input link meta param source track wbr'.split(' '));
const tagName = /^[a-z][\w-]*$/i;
const attributeName = /^[a-z_][\w.-]*(?::[\w-]+)?$/i;

/** The source of a node without what `skips` names, without styles and comments. */
export function sourceOf(node: Node, skips: (element: Element) => boolean): string {
  const parts: string[] = [];
  write(node, skips, parts);
  return parts.join('');
}

function write(node: Node, skips: (element: Element) => boolean, parts: string[]): void {
  if (isText(node)) parts.push(escape(node.data));
  if (!isElement(node) || nonTextTags.has(node.name) || skips(node)) return;
  const name = nameOf(node);
  parts.push('<', name);
  for (const [key, value] of Object.entries(node.attribs))
    if (key !== 'style' && attributeName.test(key)) parts.push(' ', key, '="', escape(value).replace(/"/g, '&quot;'), '"');
  if (node.name === 'h1') parts.push(' ', headingMark, '=""');
  if (voidNames.has(name)) {
    parts.push('/>');
    return;
  }
  parts.push('>');
  for (const child of node.children) write(child, skips, parts);
  parts.push('</', name, '>');
}

/** Names with a colon, as of word processors, are those of HTML to the small DOM. */
function nameOf({ name, attribs }: Element): string {
  if (name === 'aside' && isNote(attribs)) return 'div';
  if (name === 'input' && attribs['type']?.toLowerCase() === 'checkbox') return checkboxName;
  return tagName.test(name) ? name : 'span';
}

const escape = (text: string): string =>
  /[&<>]/.test(text) ? text.replace(/[&<>]/g, (letter) => (letter === '&' ? '&amp;' : letter === '<' ? '&lt;' : '&gt;')) : text;

export interface ReadableOptions {
  base: string | null;
  /** Readability relaxes its rules until the article has as many characters. */
  charsMin: number;
}

/** The article in the body's source, or ''. */
export function readArticle(body: string, { base, charsMin }: ReadableOptions): string {
  const document = new JSDOMParser().parse(`<html>${body}</html>`, base ?? undefined);
  return new Readability(document, { keepClasses: true, disableJSONLD: true, charThreshold: charsMin }).parse()?.content ?? '';
}
