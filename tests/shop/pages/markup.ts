/** HTML templates: values are escaped unless they are markup. */
export class Markup {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

export type MarkupValue = string | number | Markup | false | undefined | MarkupValue[];

export function markup(strings: TemplateStringsArray, ...values: MarkupValue[]): Markup {
  return new Markup(String.raw({ raw: strings }, ...values.map(write)));
}

export const escape = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;').replaceAll("'", '&#39;');

/** JSON that is safe inside a script element. */
export const dataScript = (type: string, id: string, value: unknown): Markup =>
  new Markup(`<script type="${type}" id="${id}">${JSON.stringify(value).replaceAll('<', '\\u003c')}</script>`);

function write(value: MarkupValue): string {
  if (value === undefined || value === false) return '';
  if (value instanceof Markup) return value.text;
  if (Array.isArray(value)) return value.map(write).join('');
  return escape(String(value));
}
