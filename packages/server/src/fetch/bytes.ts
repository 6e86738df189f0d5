/** Responses that are not HTML pages: their bytes, text and JSON. */
import { parse as parseDisposition } from 'content-disposition';
import type { FetchRequest } from '@berth/contract';
import { sanitizeFileName } from '../browser/browser.ts';
import { decodeBody, kindOf } from '../content/content.ts';
import type { PageResult, ResponseBytes } from './result.ts';

const sniffBytes = 4096;

export interface Body {
  data: Buffer;
  truncated: boolean;
}

export const toBytes = ({ data, truncated }: Body, contentType: string | null, filename: string | null = null): ResponseBytes => ({
  data_base64: data.toString('base64'),
  content_type: contentType,
  bytes: data.length,
  filename,
  truncated,
});

/** Adds a body that was not rendered: always its bytes, and its text or JSON when it is that. */
export function addBody(result: PageResult, body: Body, request: FetchRequest): void {
  const { contentType, headers } = result;
  const kind = kindOf(contentType, body.data.subarray(0, sniffBytes));
  result.raw = toBytes(body, contentType, parseFileName(headers['content-disposition']));
  if (body.truncated) result.warnings.push('body_truncated');
  if (kind !== 'json' && kind !== 'text' && kind !== 'html') return;
  const { text } = decodeBody(body.data, contentType);
  if (request.formats.includes('text')) result.text = text;
  if (request.formats.includes('markdown')) result.markdown = kind === 'json' ? `\`\`\`json\n${text}\n\`\`\`` : text;
  if (kind === 'json') addJson(result, text);
}

/** Adds the JSON of a document that is JSON. */
export function addJsonBody(result: PageResult, { data }: Body): void {
  if (kindOf(result.contentType, data.subarray(0, sniffBytes)) === 'json') addJson(result, decodeBody(data, result.contentType).text);
}

function addJson(result: PageResult, text: string): void {
  try {
    result.json = JSON.parse(text);
  } catch {
    result.warnings.push('json_invalid');
  }
}

/** The file name of a Content-Disposition header (RFC 6266); null when it is invalid or has none. */
export function parseFileName(header: string | undefined): string | null {
  if (header === undefined) return null;
  try {
    const { filename } = parseDisposition(header).parameters;
    return filename === undefined ? null : sanitizeFileName(filename);
  } catch {
    return null;
  }
}
