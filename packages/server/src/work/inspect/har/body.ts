import { isUtf8 } from 'node:buffer';

/** The text of a body; null for one that is no text. */
export function toBodyText(text: string, isBase64: boolean): string | null {
  if (!isBase64) return text;
  const bytes = Buffer.from(text, 'base64');
  return isUtf8(bytes) && !bytes.includes(0) ? bytes.toString('utf8') : null;
}

const multipart = /^\s*multipart\/form-data\b/i;
const headEnd = '\r\n\r\n';

/** The body of a request, without the contents of uploaded files. */
export function toRequestText(text: string, mimeType: string): string {
  if (!multipart.test(mimeType)) return text;
  const delimiter = text.slice(0, text.indexOf('\r\n'));
  // A body of another form may be all file.
  if (!delimiter.startsWith('--')) return '';
  return text.split(delimiter).map(withoutFile).join(delimiter);
}

function withoutFile(part: string): string {
  const end = part.indexOf(headEnd);
  return end >= 0 && /filename/i.test(part.slice(0, end)) ? `${part.slice(0, end)}${headEnd}\r\n` : part;
}
