/**
 * What a tool answers, and the text that becomes of it. What a page says stands between markers that carry a number of
 * this call alone: a page cannot know it, so it can neither end its part nor speak as the tool.
 */
import { randomBytes } from 'node:crypto';
import { fittingLength, tokensMax } from './tokens.ts';

export interface Answer {
  /** What the tool itself says, before the page. */
  head?: readonly (string | null)[];
  /** What a page says, or what was made of it. */
  page?: string;
  /** What the tool itself says, after the page. */
  tail?: readonly (string | null)[];
  image?: { data: string; mimeType: string };
  isError?: boolean;
}

export interface ToolResult {
  content: ({ type: 'text'; text: string } | { type: 'image'; data: string; mimeType: string })[];
  isError?: boolean;
  [key: string]: unknown;
}

/**
 * Characters that no reader of the text sees, but a terminal obeys or a model reads: controls except line breaks and
 * tabs, changes of direction, and the tags and selectors in which texts are hidden.
 */
// oxlint-disable-next-line no-control-regex -- They are what is removed.
const unseen = /[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e0fff}]/gu;

export const visible = (text: string): string => text.toWellFormed().replaceAll(unseen, '');

/** A text of a page within a line of our own, such as an address. */
export function inLine(text: string, charsMax = 300): string {
  const line = visible(text.slice(0, charsMax * 2)).replaceAll(/\s+/g, ' ');
  return line.length > charsMax ? `${line.slice(0, charsMax)}…` : line;
}

/** Room for what the tool says beside a page. */
const ownTokensMax = 400;

export function toResult({ head = [], page, tail = [], image, isError = false }: Answer): ToolResult {
  const own = (lines: readonly (string | null)[]): string[] => {
    const text = visible(lines.filter((line) => line !== null).join('\n'));
    return text === '' ? [] : [text.slice(0, fittingLength(text, ownTokensMax))];
  };
  const lines = [...own(head), ...(page === undefined ? [] : [between(page)]), ...own(tail)];
  const content: ToolResult['content'] = [{ type: 'text', text: lines.join('\n') }];
  if (image) content.push({ type: 'image', ...image });
  return isError ? { content, isError } : { content };
}

function between(page: string): string {
  const marker = `page-${randomBytes(4).toString('hex')}`;
  const shown = visible(page);
  const end = fittingLength(shown, tokensMax - 2 * ownTokensMax);
  return `<${marker}>\n${shown.slice(0, end).trimEnd()}${end < shown.length ? '\n… (cut)' : ''}\n</${marker}>`;
}
