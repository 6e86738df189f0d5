/** A response that is no page: its bytes, and what they plainly are. */
import { parse as parseDisposition } from 'content-disposition';
import type { FetchRequest } from '@berth/contract';
import { harmlessName } from '../browser/browser.ts';
import { decodeBody, kindOf } from '../content/content.ts';
import type { Found, FoundBytes } from './found.ts';

const sniffBytes = 4096;

export interface Body {
  data: Buffer;
  truncated: boolean;
}

export const toBytes = ({ data, truncated }: Body, contentType: string | null, filename: string | null = null): FoundBytes => ({
  data_base64: data.toString('base64'),
  content_type: contentType,
  bytes: data.length,
  filename,
  truncated,
});

/** Fills in what a body without a document gives: always its bytes, and its text or its JSON where it is such. */
export function takeBody(found: Found, body: Body, request: FetchRequest): void {
  const { contentType, headers } = found;
  const kind = kindOf(contentType, body.data.subarray(0, sniffBytes));
  found.raw = toBytes(body, contentType, fileNameOf(headers['content-disposition']));
  if (body.truncated) found.warnings.push('body_truncated');
  if (kind !== 'json' && kind !== 'text' && kind !== 'html') return;
  const { text } = decodeBody(body.data, contentType);
  if (request.formats.includes('text')) found.text = text;
  if (request.formats.includes('markdown')) found.markdown = kind === 'json' ? `\`\`\`json\n${text}\n\`\`\`` : text;
  if (kind === 'json') takeJson(found, text);
}

/** The JSON of a document that is JSON. */
export function takeData(found: Found, { data }: Body): void {
  if (kindOf(found.contentType, data.subarray(0, sniffBytes)) === 'json') takeJson(found, decodeBody(data, found.contentType).text);
}

function takeJson(found: Found, text: string): void {
  try {
    found.json = JSON.parse(text);
  } catch {
    found.warnings.push('json_invalid');
  }
}

/** RFC 6266; a header that is none gives no name. */
export function fileNameOf(header: string | undefined): string | null {
  if (header === undefined) return null;
  try {
    const { filename } = parseDisposition(header).parameters;
    return filename === undefined ? null : harmlessName(filename);
  } catch {
    return null;
  }
}
