/** HTML of pages that the service renders itself. */
const escapes: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

/** Escapes text and quoted attribute values. */
export const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (character) => escapes[character] ?? '');

/** HTML, as opposed to text that must be escaped. */
export class Markup {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

type HtmlPart = string | Markup | readonly Markup[];

const toText = (part: HtmlPart): string => {
  if (typeof part === 'string') return escapeHtml(part);
  return part instanceof Markup ? part.text : part.map(({ text }) => text).join('');
};

/** Escapes interpolated text, but not the result of another `html`. */
export const html = (texts: TemplateStringsArray, ...parts: HtmlPart[]): Markup =>
  new Markup(String.raw({ raw: texts }, ...parts.map(toText)));

export const nothing = html``;
