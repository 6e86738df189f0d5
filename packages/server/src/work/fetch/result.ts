/** The page part of a fetch response, as one attempt fills it. */
import { setImmediate as pause } from 'node:timers/promises';
import { parse as parseDisposition } from 'content-disposition';
import type { FetchRequest, FetchResponse } from '@berth/contract';
import { sanitizeFileName } from '@berth/devtools';
import { decodeBody, kindOf } from '@berth/reading';
import { isJsonWithin } from '@berth/lib/json/bounds.ts';
import { section } from '@berth/lib/turns/sections.ts';

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
  if (body.truncated && !result.warnings.includes('body_truncated')) result.warnings.push('body_truncated');
  if (kind !== 'json' && kind !== 'text' && kind !== 'html') return;
  const { text } = await decodeBody(body.data, contentType);
  if (formats.includes('text')) result.text = text;
  if (formats.includes('markdown')) result.markdown = kind === 'json' ? `\`\`\`json\n${text}\n\`\`\`` : text;
  if (kind === 'json') await addJson(result, text);
}

/** Adds the JSON of a document that is JSON. */
export async function addJsonBody(result: PageResult, { data }: Body): Promise<void> {
  if (kindOf(result.contentType, data.subarray(0, sniffBytes)) !== 'json') return;
  await addJson(result, (await decodeBody(data, result.contentType)).text);
}

/** A page is no JSON: without fields to extract, there is nothing that the format could return. */
export function warnOfNoJson(result: PageResult, { formats, extract }: Pick<FetchRequest, 'formats' | 'extract'>): void {
  const isExplained = result.warnings.some((warning) => warning.startsWith('json_'));
  if (formats.includes('json') && extract === null && result.json === null && !isExplained) result.warnings.push('json_needs_extract');
}

async function addJson(result: PageResult, text: string): Promise<void> {
  const isWithin = text.length <= jsonCharsMax && section('json', () => isJsonWithin(text, jsonBounds));
  if (!isWithin) result.warnings.push('json_too_large');
  await pause();
  try {
    if (isWithin) result.json = section('json', (): unknown => JSON.parse(text));
  } catch {
    result.warnings.push('json_invalid');
  }
}

/** JSON that the worker parses and writes again in milliseconds, without exceeding its stack. */
const jsonCharsMax = 4 * 1024 * 1024;
const jsonBounds = { depthMax: 500, containersMax: 200_000, separatedMax: 300_000 };

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
