import { collapse, elementsNamed, isInside, resolveUrl, type CheerioAPI } from './dom.ts';
import type { PageMetadata, Warnings } from './conversion.ts';
import { isJsonLd, parseJsonLd } from './json-ld.ts';

const textCharsMax = 5000;
const openGraphMax = 200;
const jsonLdBlocksMax = 100;
/** Maximum characters of all JSON-LD blocks together. */
const jsonLdCharsMax = 2_000_000;

/** The page's title, or ''. The title of an SVG counts only when the page is that SVG. */
export function titleOf($: CheerioAPI): string {
  const titles = elementsNamed($, 'title').filter((element) => isDrawing($) || !isInside(element, drawings));
  return titles[0] ? collapse($(titles[0]).text()).slice(0, textCharsMax) : '';
}

const drawings = ['svg', 'math'];

const isDrawing = ($: CheerioAPI): boolean => {
  const body = $('body').children();
  return body.length === 1 && body.is('svg');
};

export function readMetadata($: CheerioAPI, base: string | null, warnings: Warnings): PageMetadata {
  const metas = readMetas($);
  return {
    title: titleOf($) || null,
    description: metas.get('description') ?? metas.get('og:description') ?? null,
    language: languageOf($, metas),
    canonical: linkHref($, base, 'canonical'),
    favicon:
      linkHref($, base, 'icon') ?? linkHref($, base, 'apple-touch-icon') ?? (base === null ? null : resolveUrl('/favicon.ico', base)),
    open_graph: readOpenGraph(metas, base),
    json_ld: readJsonLd($, warnings),
  };
}

/** Contents of `meta` elements by lower-case name, the first value of each. */
function readMetas($: CheerioAPI): Map<string, string> {
  const metas = new Map<string, string>();
  for (const { attribs } of elementsNamed($, 'meta')) {
    const name = (attribs['property'] ?? attribs['name'] ?? attribs['http-equiv'] ?? '').trim().toLowerCase().slice(0, 200);
    const content = collapse(attribs['content'] ?? '').slice(0, textCharsMax);
    if (name !== '' && content !== '' && !metas.has(name)) metas.set(name, content);
  }
  return metas;
}

const openGraphAddress =
  /^(?:og:(?:url|(?:image|video|audio)(?::(?:url|secure_url))?)|twitter:(?:url|image(?::src|[0-3])?|player(?::stream)?))$/;

/** Addresses become absolute. */
function readOpenGraph(metas: Map<string, string>, base: string | null): Record<string, string> {
  const own = [...metas].filter(([name]) => /^(og|twitter):/.test(name)).slice(0, openGraphMax);
  return Object.fromEntries(own.map(([name, value]) => [name, openGraphAddress.test(name) ? (resolveUrl(value, base) ?? value) : value]));
}

export const pageLanguageOf = ($: CheerioAPI): string | null => languageOf($, readMetas($));

function languageOf($: CheerioAPI, metas: Map<string, string>): string | null {
  const language = $('html').attr('lang') || $('html').attr('xml:lang') || metas.get('content-language') || metas.get('og:locale');
  return language?.trim().slice(0, 100) || null;
}

function linkHref($: CheerioAPI, base: string | null, rel: string): string | null {
  for (const { attribs } of elementsNamed($, 'link')) {
    const rels = (attribs['rel'] ?? '').toLowerCase().split(/\s+/);
    const address = rels.includes(rel) && attribs['href'] !== undefined ? resolveUrl(attribs['href'], base) : null;
    if (address !== null) return address;
  }
  return null;
}

function readJsonLd($: CheerioAPI, warnings: Warnings): unknown[] {
  const blocks: unknown[] = [];
  let charsLeft = jsonLdCharsMax;
  for (const element of elementsNamed($, 'script')) {
    if (!isJsonLd(element.attribs['type'])) continue;
    const source = $(element).text();
    charsLeft -= source.length;
    if (charsLeft < 0 || blocks.length >= jsonLdBlocksMax) {
      warnings.add('json_ld_cut');
      break;
    }
    const block = parseJsonLd(source);
    if (block === undefined) warnings.add('json_ld_invalid');
    else blocks.push(block);
  }
  return blocks;
}
