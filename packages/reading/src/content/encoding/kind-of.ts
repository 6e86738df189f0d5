export type ContentKind = 'html' | 'json' | 'text' | 'pdf' | 'image' | 'binary';

/**
 * The kind of a body by its Content-Type, or by its first bytes (some hundred
 * are enough) when the type is missing or generic. A declared type is trusted:
 * a server that sends source code as text/plain means it.
 */
export function kindOf(contentType: string | null, head: Buffer): ContentKind {
  const essence = (contentType ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
  return genericTypes.has(essence) || !essence.includes('/') ? sniff(head) : fromType(essence);
}

const genericTypes = new Set([
  'application/octet-stream',
  'binary/octet-stream',
  'application/unknown',
  'unknown/unknown',
  '*/*',
  'application/x-unknown',
]);

function fromType(essence: string): ContentKind {
  if (/^(text\/html|application\/xhtml\+xml)$/.test(essence)) return 'html';
  if (/^(application|text)\/(.+\+)?(json|x-json)$/.test(essence)) return 'json';
  if (/^application\/(x-)?pdf$/.test(essence)) return 'pdf';
  // SVG is text without a browser.
  if (
    /^text\/|[/+]xml$|^application\/((x-)?(javascript|ecmascript|yaml|ndjson|jsonlines|sql|toml|sh)|x-www-form-urlencoded)$/.test(essence)
  )
    return 'text';
  return essence.startsWith('image/') ? 'image' : 'binary';
}

const magicBytes: [Buffer, ContentKind][] = [
  [Buffer.from('%PDF-'), 'pdf'],
  [Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), 'image'],
  [Buffer.from('\xff\xd8\xff', 'latin1'), 'image'],
  [Buffer.from('GIF8'), 'image'],
  [Buffer.from('\0\0\x01\0', 'latin1'), 'image'],
];

const headBytesMax = 1024;

function sniff(head: Buffer): ContentKind {
  const bytes = head.subarray(0, headBytesMax);
  const magic = magicBytes.find(([prefix]) => bytes.subarray(0, prefix.length).equals(prefix));
  if (magic) return magic[1];
  if (bytes.toString('latin1', 0, 4) === 'RIFF' && bytes.toString('latin1', 8, 12) === 'WEBP') return 'image';
  if (bytes.toString('latin1', 4, 8) === 'ftyp' && /^avi[fs]|^hei[cx]/.test(bytes.toString('latin1', 8, 12))) return 'image';
  const isUtf16 = (bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff);
  if (!isUtf16 && bytes.some(isControl)) return 'binary';
  const start = bytes
    .toString('latin1')
    .replaceAll('\0', '')
    .replace(/^(\xef\xbb\xbf|\xff\xfe|\xfe\xff)/, '')
    .trimStart();
  if (/^<(!doctype\s+html|html|head|body|title|meta|script|style|link|h1|div|p|table|a|br|iframe|!--)(?=[\s>/]|$)/i.test(start))
    return 'html';
  return /^(\{\s*("|\}|$)|\[\s*(["[{\d\]-]|true|false|null|$))/.test(start) ? 'json' : 'text';
}

/** Binary data bytes of the MIME sniffing standard. */
const isControl = (byte: number): boolean => byte < 0x09 || byte === 0x0b || (byte > 0x0d && byte < 0x1b) || (byte > 0x1b && byte < 0x20);
