import { type CheerioAPI, type Element, type Parent, innerHtml, resolveUrl } from './dom.ts';
import { pageLanguageOf } from './metadata.ts';
import type { ExtractField, Warnings } from './conversion.ts';
import { textOf } from './text.ts';
import { toBoolean, toDate, toNumber, toUrl } from './values.ts';

const listMax = 10_000;
/** Maximum characters of all fields together: overlapping matches repeat the page. */
const charsMax = 8_000_000;

/** One value per field. Null when nothing matches, and, with a warning, when the match is not of the type. */
export function extractFields(
  $: CheerioAPI,
  fields: Record<string, ExtractField>,
  context: { base: string | null; warnings: Warnings },
): Record<string, unknown> {
  const reader = new FieldReader($, context.base, context.warnings);
  return Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, reader.read(name, field)]));
}

class FieldReader {
  readonly #$: CheerioAPI;
  readonly #base: string | null;
  readonly #warnings: Warnings;
  /** Language of the page, where its elements declare none. */
  readonly #language: string | null;
  #charsLeft = charsMax;

  constructor($: CheerioAPI, base: string | null, warnings: Warnings) {
    this.#$ = $;
    this.#base = base;
    this.#warnings = warnings;
    this.#language = pageLanguageOf($);
  }

  read(name: string, field: ExtractField): unknown {
    // `find` is needed: `$(text)` creates elements from text that looks like markup.
    const matches = this.#$.root().find(field.selector).toArray();
    if (field.list !== true) return matches[0] ? this.#value(name, field, matches[0]) : null;
    if (matches.length > listMax) this.#warnings.add(`extract_cut:${name}`);
    return matches.slice(0, listMax).map((element) => this.#value(name, field, element));
  }

  #value(name: string, field: ExtractField, element: Element): unknown {
    if (this.#charsLeft <= 0) {
      this.#warnings.add(`extract_cut:${name}`);
      return null;
    }
    const source = this.#source(field, element);
    if (source === null) return field.type === 'boolean' ? false : null;
    const value = this.#convert(field, source, element);
    this.#charsLeft -= typeof value === 'string' ? value.length : 0;
    if (value === null) this.#warnings.add(`extract_failed:${name}`);
    return value;
  }

  /** The text to convert; null when the attribute is missing. */
  #source({ attr, type }: ExtractField, element: Element): string | null {
    const { attribs, name } = element;
    if (attr !== undefined) return attribs[attr.toLowerCase()] ?? attribs[attr] ?? null;
    if (type === 'html') return innerHtml(element);
    if (type === 'url') return attribs['href'] ?? attribs['src'] ?? attribs['content'] ?? textOf(element);
    if (type === 'date' && name === 'time' && attribs['datetime'] !== undefined) return attribs['datetime'];
    // A <meta> has no text.
    if (name === 'meta') return attribs['content'] ?? '';
    return textOf(element);
  }

  #convert({ attr, type = 'text' }: ExtractField, source: string, element: Element): unknown {
    switch (type) {
      case 'number':
        return toNumber(source, languageOf(element) ?? this.#language);
      case 'date':
        return toDate(source);
      case 'url':
        return toUrl(source, this.#base);
      case 'boolean':
        // A boolean attribute such as `checked` is true when present.
        return attr !== undefined && (source === '' || source === attr) ? true : toBoolean(source);
      case 'html':
        return source;
      case 'text':
        return attr !== undefined && addressAttributes.has(attr.toLowerCase()) ? (resolveUrl(source, this.#base) ?? source) : source.trim();
    }
  }
}

/** The language that the element, or the closest one around it, declares. */
function languageOf(element: Element): string | null {
  for (let at: Parent | null = element; at !== null && 'attribs' in at; at = at.parent as Parent | null) {
    const language = at.attribs['lang'] || at.attribs['xml:lang'];
    if (language) return language;
  }
  return null;
}

const addressAttributes = new Set(['href', 'src', 'action', 'formaction', 'poster', 'cite', 'data', 'background']);
