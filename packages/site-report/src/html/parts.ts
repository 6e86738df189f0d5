/** Pieces of the page: numbers, tables, labels. Texts of the site are always escaped, and never a link. */
import { html, nothing, type Markup } from '@berth/lib/text/html.ts';

const textCharsMax = 400;

/** A text of the site, cut where nobody reads on. */
export const cut = (text: string, charsMax = textCharsMax): string => (text.length > charsMax ? `${text.slice(0, charsMax)}…` : text);

export const code = (text: string, charsMax = textCharsMax): Markup => html`<code>${cut(text, charsMax)}</code>`;
export const codeOrNone = (text: string | null, none = 'none'): Markup => (text === null || text === '' ? muted(none) : code(text));
export const muted = (text: string): Markup => html`<span class="muted">${text}</span>`;

export function bytes(value: number): string {
  if (value < 1000) return `${value} B`;
  return value < 1_000_000 ? `${(value / 1000).toFixed(value < 10_000 ? 1 : 0)} kB` : `${(value / 1_000_000).toFixed(1)} MB`;
}

export function duration(ms: number): string {
  return ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(ms < 10_000 ? 2 : 1)} s`;
}

export function seconds(value: number | null): string {
  if (value === null) return 'session';
  const [size, unit] = value >= 86_400 ? [86_400, 'd'] : value >= 3600 ? [3600, 'h'] : value >= 60 ? [60, 'min'] : [1, 's'];
  return `${Math.round(value / size)} ${unit}`;
}

export const count = (value: number): string => value.toLocaleString('en');

/** `endpoint` for 1, `endpoints` for any other number. */
export const noun = (value: number, singular: string, plural = `${singular}s`): string => (value === 1 ? singular : plural);

/** `1 endpoint`, `3 endpoints`, `1,200 endpoints`. */
export const countText = (value: number, singular: string, plural?: string): string => `${count(value)} ${noun(value, singular, plural)}`;

export type Tone = 'good' | 'warn' | 'bad' | 'plain';

export const badge = (text: string, tone: Tone = 'plain'): Markup => html`<span class="badge ${tone}">${cut(text, 60)}</span>`;
export const confidence = (value: string): Markup =>
  badge(`${value} confidence`, value === 'high' ? 'good' : value === 'medium' ? 'warn' : 'plain');
export const yesNo = (value: boolean): Markup => (value ? html`<span class="yes">yes</span>` : html`<span class="muted">no</span>`);

export interface TableOptions {
  caption: string;
  head: readonly string[];
  rows: readonly (readonly (Markup | string)[])[];
  /** Columns of numbers. */
  numeric?: readonly number[];
  rowsMax?: number;
  /** How many there are, when `rows` has only the first. */
  total?: number;
}

export const rowsShown = 100;

/** Wide tables scroll by themselves, also by the keyboard. */
export function table({ caption, head, rows, numeric = [], rowsMax = rowsShown, total = rows.length }: TableOptions): Markup {
  if (rows.length === 0) return nothing;
  const kind = (column: number): Markup => (numeric.includes(column) ? html` class="number"` : nothing);
  const more =
    total > rowsMax ? html`<p class="muted">The first ${count(rowsMax)} of ${count(total)}. The JSON report has all.</p>` : nothing;
  return html`<div class="wide" role="region" aria-label="${caption}" tabindex="0">
      <table>
        <caption>
          ${caption}
        </caption>
        <thead>
          <tr>
            ${head.map((name, column) => html`<th scope="col" ${kind(column)}>${name}</th>`)}
          </tr>
        </thead>
        <tbody>
          ${rows.slice(0, rowsMax).map(
            (row) =>
              html`<tr>
                ${row.map((cell, column) => html`<td${kind(column)}>${cell}</td>`)}
              </tr>`,
          )}
        </tbody>
      </table>
    </div>
    ${more}`;
}

/** Pairs of a name and what is known. */
export const facets = (pairs: readonly (readonly [name: string, value: Markup | string])[]): Markup =>
  html`<dl class="facets">
    ${pairs.map(
      ([name, value]) =>
        html`<div>
          <dt>${name}</dt>
          <dd>${value}</dd>
        </div>`,
    )}
  </dl>`;

export const list = (items: readonly (Markup | string)[]): Markup =>
  items.length === 0
    ? nothing
    : html`<ul class="plain">
        ${items.slice(0, rowsShown).map((item) => html`<li>${item}</li>`)}
      </ul>`;

export const section = (id: string, title: string, content: readonly Markup[]): Markup =>
  html`<section id="${id}" aria-labelledby="${id}-title">
    <h2 id="${id}-title">${title}</h2>
    ${content}
  </section>`;

export const evidence = (ids: readonly string[]): Markup =>
  ids.length === 0 ? nothing : muted(`seen in ${ids.slice(0, 6).join(', ')}${ids.length > 6 ? ' …' : ''}`);
