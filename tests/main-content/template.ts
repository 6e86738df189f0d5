import type { Around } from './around.ts';
import { escape, type Markup } from './markup.ts';
import type { Text } from './texts.ts';

/** What a template puts together. */
export interface TemplateInput {
  text: Text;
  markup: Markup;
  around: Around;
}

/** The markup inside of `<body>`. */
export type Template = (parts: TemplateInput) => string;

export const titleOf = ({ text }: TemplateInput): string => escape(text.title);

/** The content with something else between its blocks, as sites put it there. */
export function interrupted({ text, markup }: TemplateInput, insert: () => string, after = 3): string {
  return text.blocks.map((block, at) => markup.block(block) + (at === after ? `\n${insert()}\n` : '')).join('\n');
}
