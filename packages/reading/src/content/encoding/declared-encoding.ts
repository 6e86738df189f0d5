/** The encoding that a body declares, as browsers read it: byte order mark, Content-Type, then what the document says. */
import { readTokens } from '@berth/lib/text/html-tokens.ts';
import sniffEncoding from 'html-encoding-sniffer';
import { kindOf } from './kind-of.ts';

/** The WHATWG name in lower case; null for a body without a declaration, or with one that no browser knows. */
export function declaredEncoding(bytes: Buffer, contentType: string | null): string | null {
  const label = /;\s*charset\s*=\s*["']?([^\s"';]+)/i.exec(contentType ?? '')?.[1];
  const labelled = label === undefined ? {} : { transportLayerEncodingLabel: label };
  const sniff = (options: Parameters<typeof sniffEncoding>[1]): string | null => {
    const encoding = sniffEncoding(bytes, { ...options, ...labelled, defaultEncoding: undeclared });
    return encoding === undeclared ? null : encoding.toLowerCase();
  };
  const isXml = /^[^;]*[/+]xml\b/i.test(contentType ?? '');
  // Text that contains markup declares nothing by it.
  const isHtml = !isXml && kindOf(contentType, bytes.subarray(0, sniffBytes)) === 'html';
  if (!isHtml) return sniff({ xml: true });
  return sniff({}) ?? (bytes.length > prescanBytes ? sniff({ maxPrescanBytes: headBytes(bytes) }) : null);
}

/** A value that is not the name of any encoding. */
const undeclared = 'undeclared';
const sniffBytes = 4096;
/** Number of bytes that are searched in any case, by the standard. */
const prescanBytes = 1024;

/** Number of bytes beyond which no browser looks for a declaration: they scan the head as it comes from the network. */
const headBytesMax = 64 * 1024;
/** Elements that a head may contain; any other one ends it. */
const headNames = new Set(['html', 'head', 'base', 'link', 'meta', 'noscript', 'object', 'script', 'style', 'template', 'title']);

/** Finds the end of the head, because a `<meta>` counts anywhere in it, and none after it does. */
function headBytes(bytes: Buffer): number {
  let end: number | null = null;
  readTokens(bytes.toString('latin1', 0, headBytesMax), {
    start: ({ name, start }) => void (headNames.has(name.toLowerCase()) || (end ??= start)),
    end: (name, start) => void (name.toLowerCase() === 'head' && (end ??= start)),
  });
  return end ?? Math.min(bytes.length, headBytesMax);
}
