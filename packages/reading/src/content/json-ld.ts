/** JSON-LD as pages have it. */
import { withoutTrailing } from '@berth/lib/text/urls.ts';

/** Maximum nesting: deeper values overflow the stack when they are serialized or copied. */
const jsonDepthMax = 100;

/** Whether a script of this type holds JSON-LD. */
export const isJsonLd = (type: string | undefined): boolean => /^application\/ld\+json\s*(;|$)/i.test((type ?? '').trim());

/** Parses a block of JSON-LD; undefined for invalid JSON. Accepts what generators of pages leave in it: see `toStrictJson`. */
export function parseJsonLd(source: string): unknown {
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
