import { withoutTrailing } from '@berth/lib/text/urls.ts';
import { collapse, elementsNamed, isInside, resolveUrl, type CheerioAPI } from './dom.ts';
import type { PageMetadata, Warnings } from './conversion.ts';

const textCharsMax = 5000;
const openGraphMax = 200;
const jsonLdBlocksMax = 100;
/** Maximum characters of all JSON-LD blocks together. */
const jsonLdCharsMax = 2_000_000;
/** Maximum nesting: deeper values overflow the stack when they are serialized or copied. */
const jsonDepthMax = 100;

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
    if (!/^application\/ld\+json\s*(;|$)/i.test((element.attribs['type'] ?? '').trim())) continue;
    const source = $(element).text();
    charsLeft -= source.length;
    if (charsLeft < 0 || blocks.length >= jsonLdBlocksMax) {
      warnings.add('json_ld_cut');
      break;
    }
    const block = parseBlock(source);
    if (block === undefined) warnings.add('json_ld_invalid');
    else blocks.push(block);
  }
  return blocks;
}

/** Parses a block; undefined for invalid JSON. Accepts what generators of pages leave in it: see `toStrictJson`. */
function parseBlock(source: string): unknown {
  const content = withoutTrailing(source.trim(), ';').trimEnd();
  for (const toJson of [(text: string) => text, toStrictJson]) {
    try {
      const block: unknown = JSON.parse(toJson(content));
      return isShallow(block) ? block : undefined;
    } catch {
      continue;
    }
  }
  return undefined;
}

/** Marks around the JSON or in it, each with its end; null for one that ends where it begins. */
const jsonWrappers: readonly (readonly [start: string, end: string | null])[] = [
  ['<!--', null],
  ['-->', null],
  ['<![CDATA[', null],
  [']]>', null],
  ['/*', '*/'],
  ['//', '\n'],
];

/** JSON without comments and CDATA sections around or in it, without trailing commas and raw line ends in strings. Linear. */
function toStrictJson(source: string): string {
  const parts: string[] = [];
  let comma = '';
  for (let at = 0; at < source.length;) {
    const letter = source[at] ?? '';
    const wrapper = '<-]/'.includes(letter) ? jsonWrappers.find(([start]) => source.startsWith(start, at)) : undefined;
    const end = wrapper ? endOfWrapper(source, at, wrapper) : letter === '"' ? endOfString(source, at) : at + 1;
    const part = wrapper ? '' : source.slice(at, end);
    at = end;
    if (letter === ',') {
      comma = part;
      continue;
    }
    if (part.trim() !== '') {
      if (letter !== '}' && letter !== ']' && letter !== ';') parts.push(comma);
      comma = '';
    }
    parts.push(letter === '"' ? part.replace(/[\n\r\t]+/g, ' ') : part);
  }
  return withoutTrailing(parts.join('').trim(), ';').trim();
}

/** `// ]]>` and `//-->` end a wrapper of the whole, and are no comment to the end of the line. */
function endOfWrapper(source: string, at: number, [start, end]: readonly [start: string, end: string | null]): number {
  if (start === '//' && /^\/\/[ \t]{0,20}(?:<!|\]\]>|-->)/.test(source.slice(at, at + 30))) return at + start.length;
  const endAt = end === null ? at : source.indexOf(end, at + start.length);
  return endAt < 0 ? source.length : endAt + (end ?? start).length;
}

function endOfString(source: string, at: number): number {
  let end = at + 1;
  while (end < source.length && source[end] !== '"') end += source[end] === '\\' ? 2 : 1;
  return end + 1;
}

function isShallow(block: unknown): boolean {
  let level = [block];
  for (let depth = 0; depth < jsonDepthMax; depth += 1) {
    level = level.flatMap((value) => (typeof value === 'object' && value !== null ? Object.values(value) : []));
    if (level.length === 0) return true;
  }
  return false;
}
