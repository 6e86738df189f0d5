/** The lexical parts of HTML. Each function reads on from an index and never back, so that a scan built on them is linear. */

export interface Element {
  tag: string;
  attributes: ReadonlyMap<string, string>;
}

export const slash = 0x2f;
const bang = 0x21;
const question = 0x3f;
export const isLetter = (code: number): boolean => (code >= 0x61 && code <= 0x7a) || (code >= 0x41 && code <= 0x5a);

/** The index after the `>` of a start tag, or -1. Only a quote after `=` quotes. */
export function startTagEnd(html: string, from: number): number {
  for (let at = from; at < html.length; at += 1) {
    const code = html.charCodeAt(at);
    if (code === 0x3e) return at + 1;
    if (code !== 0x3d) continue;
    while (isSpace(html.charCodeAt(at + 1))) at += 1;
    const quote = html[at + 1];
    if (quote !== '"' && quote !== "'") continue;
    at = html.indexOf(quote, at + 2);
    if (at === -1) return -1;
  }
  return -1;
}

export const isSpace = (code: number): boolean => code === 0x20 || (code >= 0x09 && code <= 0x0d);

/** The index after the comment or declaration at `open`, or -1 when it does not end; after the `<` where there is none. */
export function afterDeclaration(html: string, open: number): number {
  const next = html.charCodeAt(open + 1);
  if (next !== bang && next !== question) return open + 1;
  return indexAfter(html, html.startsWith('<!--', open) ? '-->' : '>', open + 2);
}

/** The index after the next `mark`, or -1. */
export function indexAfter(html: string, mark: string, from: number): number {
  const index = html.indexOf(mark, from);
  return index === -1 ? -1 : index + mark.length;
}

/** Elements whose content is text up to the end tag. */
export const rawElements: ReadonlySet<string> = new Set([
  'script',
  'style',
  'textarea',
  'title',
  'xmp',
  'iframe',
  'noembed',
  'noframes',
  'noscript',
]);
const rawEnds = new Map([...rawElements].map((name) => [name, new RegExp(`</${name}`, 'gi')]));

/** The index of the end tag of a raw element, or the end of the text. */
export function rawEnd(html: string, name: string, from: number): number {
  const pattern = rawEnds.get(name);
  if (!pattern) return from;
  pattern.lastIndex = from;
  return pattern.exec(html)?.index ?? html.length;
}

const attribute = /([^\s"'<>/=]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'<>]+)))?/g;
/** Attributes of a longer tag after this are ignored. */
const tagMax = 4000;

export function elementOf(source: string): Element {
  const attributes = new Map<string, string>();
  const tag = /^<[^\s/>]{1,40}/.exec(source)?.[0] ?? '<';
  const behindName = source.slice(tag.length, tagMax);
  for (const [, name = '', double, single, bare] of behindName.matchAll(attribute)) {
    const key = name.toLowerCase();
    if (!attributes.has(key)) attributes.set(key, decode(double ?? single ?? bare ?? ''));
  }
  return { tag: tag.slice(1).toLowerCase(), attributes };
}

const named: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: ' ', hellip: '…' };

const decode = (text: string): string =>
  text.includes('&')
    ? text.replace(/&(?:#(\d{1,6})|#x([0-9a-f]{1,5})|([a-z]{2,6}));/gi, (whole, decimal?: string, hex?: string, name?: string) => {
        if (name !== undefined) return named[name] ?? whole;
        const code = decimal === undefined ? Number.parseInt(hex ?? '', 16) : Number(decimal);
        return code > 0 && code < 0x110000 ? String.fromCodePoint(code) : whole;
      })
    : text;

export const toText = (source: string): string => decode(source).replace(/\s+/g, ' ').trim();
