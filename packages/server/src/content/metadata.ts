import { collapse, elementsNamed, isInside, resolveUrl, type CheerioAPI } from './dom.ts';
import type { PageFacts } from './model.ts';
import type { Warnings } from './warnings.ts';

const textCharsMax = 5000;
const openGraphMax = 200;
const jsonLdBlocksMax = 100;
/** Of all blocks together. */
const jsonLdCharsMax = 2_000_000;
/** What is nested deeper overflows the stack of those who print or copy it. */
const jsonDepthMax = 100;

/** The page's own title, '' without one. The title of a drawing is not the page's, unless the page is the drawing. */
export function titleOf($: CheerioAPI): string {
  const titles = elementsNamed($, 'title').filter((element) => isDrawing($) || !isInside(element, drawings));
  return titles[0] ? collapse($(titles[0]).text()).slice(0, textCharsMax) : '';
}

const drawings = ['svg', 'math'];

const isDrawing = ($: CheerioAPI): boolean => {
  const body = $('body').children();
  return body.length === 1 && body.is('svg');
};

export function readMetadata($: CheerioAPI, base: string | null, warnings: Warnings): PageFacts {
  const metas = readMetas($);
  return {
    title: titleOf($) || null,
    description: metas.get('description') ?? metas.get('og:description') ?? null,
    language: languageOf($, metas),
    canonical: linked($, base, 'canonical'),
    favicon: linked($, base, 'icon') ?? linked($, base, 'apple-touch-icon') ?? (base === null ? null : resolveUrl('/favicon.ico', base)),
    open_graph: Object.fromEntries([...metas].filter(([name]) => /^(og|twitter):/.test(name)).slice(0, openGraphMax)),
    json_ld: readJsonLd($, warnings),
  };
}

/** By lower-case name, the first value of each. */
function readMetas($: CheerioAPI): Map<string, string> {
  const metas = new Map<string, string>();
  for (const { attribs } of elementsNamed($, 'meta')) {
    const name = (attribs['property'] ?? attribs['name'] ?? attribs['http-equiv'] ?? '').trim().toLowerCase().slice(0, 200);
    const content = collapse(attribs['content'] ?? '').slice(0, textCharsMax);
    if (name !== '' && content !== '' && !metas.has(name)) metas.set(name, content);
  }
  return metas;
}

function languageOf($: CheerioAPI, metas: Map<string, string>): string | null {
  const language = $('html').attr('lang') || $('html').attr('xml:lang') || metas.get('content-language') || metas.get('og:locale');
  return language?.trim().slice(0, 100) || null;
}

function linked($: CheerioAPI, base: string | null, rel: string): string | null {
  for (const { attribs } of elementsNamed($, 'link')) {
    const rels = (attribs['rel'] ?? '').toLowerCase().split(/\s+/);
    const address = rels.includes(rel) && attribs['href'] !== undefined ? resolveUrl(attribs['href'], base) : null;
    if (address !== null) return address;
  }
  return null;
}

function readJsonLd($: CheerioAPI, warnings: Warnings): unknown[] {
  const found: unknown[] = [];
  let charsLeft = jsonLdCharsMax;
  for (const element of elementsNamed($, 'script')) {
    if (!/^application\/ld\+json\s*(;|$)/i.test((element.attribs['type'] ?? '').trim())) continue;
    const source = $(element).text();
    charsLeft -= source.length;
    if (charsLeft < 0 || found.length >= jsonLdBlocksMax) {
      warnings.add('json_ld_cut');
      break;
    }
    const block = parseBlock(source);
    if (block === undefined) warnings.add('json_ld_invalid');
    else found.push(block);
  }
  return found;
}

/** Undefined for what is not JSON. Pages wrap it in a comment or a CDATA section, or leave raw line ends in a string. */
function parseBlock(source: string): unknown {
  const bare = source.replace(/^\s*(<!--|(\/\/\s*)?<!\[CDATA\[)/, '').replace(/(-->|(\/\/\s*)?\]\]>)\s*;?\s*$/, '');
  for (const attempt of [bare, bare.replace(/[\n\r\t]+/g, ' ')]) {
    try {
      const block: unknown = JSON.parse(attempt);
      return isShallow(block) ? block : undefined;
    } catch {
      continue;
    }
  }
  return undefined;
}

function isShallow(block: unknown): boolean {
  let level = [block];
  for (let depth = 0; depth < jsonDepthMax; depth += 1) {
    level = level.flatMap((value) => (typeof value === 'object' && value !== null ? Object.values(value) : []));
    if (level.length === 0) return true;
  }
  return false;
}
