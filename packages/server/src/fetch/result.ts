/** The page part of a fetch response, as one attempt fills it. */
import { parse as parseDisposition } from 'content-disposition';
import type { FetchRequest, FetchResponse } from '@berth/contract';
import { sanitizeFileName } from '../browser/browser.ts';
import { decodeBody, kindOf } from '../content/content.ts';
import { section } from '../lib/sections.ts';

type ResponseBytes = NonNullable<FetchResponse['raw']>;
type ContentField = 'title' | 'html' | 'raw' | 'markdown' | 'text' | 'links' | 'page' | 'screenshot' | 'pdf' | 'json' | 'tables' | 'har';

export interface PageResult extends Pick<FetchResponse, ContentField | 'actions' | 'block' | 'captcha' | 'warnings'> {
  finalUrl: string;
  statusCode: number | null;
  headers: Readonly<Record<string, string>>;
  contentType: string | null;
  redirects: readonly { url: string; statusCode: number }[];
  ttfbMs: number | null;
  loadMs: number | null;
}

const noResponse = { statusCode: null, headers: {}, contentType: null, redirects: [], ttfbMs: null, loadMs: null };
const noFormats = { html: null, raw: null, markdown: null, text: null, links: null, page: null, screenshot: null, pdf: null };
const noData = { json: null, tables: null, har: null };

/** A result with nothing in it but the URL. */
export const createPageResult = (url: string): PageResult => ({
  ...noResponse,
  ...noFormats,
  ...noData,
  finalUrl: url,
  title: null,
  actions: [],
  block: null,
  captcha: null,
  warnings: [],
});

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
export async function addBody(result: PageResult, body: Body, { formats }: Pick<FetchRequest, 'formats'>): Promise<void> {
  const { contentType, headers } = result;
  const kind = kindOf(contentType, body.data.subarray(0, sniffBytes));
  result.raw = toBytes(body, contentType, parseFileName(headers['content-disposition']));
  if (body.truncated) result.warnings.push('body_truncated');
  if (kind !== 'json' && kind !== 'text' && kind !== 'html') return;
  const { text } = await decodeBody(body.data, contentType);
  if (formats.includes('text')) result.text = text;
  if (formats.includes('markdown')) result.markdown = kind === 'json' ? `\`\`\`json\n${text}\n\`\`\`` : text;
  if (kind === 'json') addJson(result, text);
}

/** Adds the JSON of a document that is JSON. */
export async function addJsonBody(result: PageResult, { data }: Body): Promise<void> {
  if (kindOf(result.contentType, data.subarray(0, sniffBytes)) !== 'json') return;
  addJson(result, (await decodeBody(data, result.contentType)).text);
}

function addJson(result: PageResult, text: string): void {
  try {
    if (isParsable(text)) result.json = section('json', (): unknown => JSON.parse(text));
    else result.warnings.push('json_too_large');
  } catch {
    result.warnings.push('json_invalid');
  }
}

/** Of a document that the worker parses and writes again, in its own thread. */
const jsonCharsMax = 4 * 1024 * 1024;
/** Objects and arrays: 4 MiB of empty ones would take ten times as long as other JSON. */
const jsonContainersMax = 200_000;
/** Deeper JSON exceeds the stack when it is written. */
const jsonDepthMax = 500;

/** Whether JSON is parsed within milliseconds. Invalid JSON may be taken for larger than it is. */
function isParsable(text: string): boolean {
  if (text.length > jsonCharsMax) return false;
  let [containers, depth] = [0, 0];
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === quote) at = closingQuote(text, at);
    else if (code === openArray || code === openObject) {
      containers += 1;
      depth += 1;
      if (containers > jsonContainersMax || depth > jsonDepthMax) return false;
    } else if (code === closeArray || code === closeObject) depth -= 1;
  }
  return true;
}

const [quote, backslash, openArray, closeArray, openObject, closeObject] = [0x22, 0x5c, 0x5b, 0x5d, 0x7b, 0x7d];

function closingQuote(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && text.charCodeAt(at) !== quote) at += text.charCodeAt(at) === backslash ? 2 : 1;
  return at;
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
