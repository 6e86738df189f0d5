/** The page part of a fetch response: each step of an attempt returns what it has read, and the parts are merged once. */
import { setImmediate as pause } from 'node:timers/promises';
import { parse as parseDisposition } from 'content-disposition';
import type { FetchRequest, FetchResponse } from '@berth/contract';
import { sanitizeFileName } from '@berth/devtools';
import { decodeBody, kindOf } from '@berth/reading';
import { isJsonWithin } from '@berth/lib/json/bounds.ts';
import { section } from '@berth/lib/turns/sections.ts';

type ResponseBytes = NonNullable<FetchResponse['raw']>;
type ContentField =
  | 'title'
  | 'html'
  | 'raw'
  | 'markdown'
  | 'text'
  | 'links'
  | 'page'
  | 'screenshot'
  | 'snapshot'
  | 'pdf'
  | 'json'
  | 'tables'
  | 'har';

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
const noData = { json: null, tables: null, har: null, snapshot: null };

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

/** What one step has read of a page. Its warnings follow those of the parts before. */
export type PagePart = Partial<PageResult>;

/** Merges parts, of which a later one wins. */
export function mergeParts(url: string, parts: readonly PagePart[]): PageResult {
  const merged: PageResult = Object.assign(createPageResult(url), ...parts);
  return { ...merged, warnings: parts.flatMap(({ warnings = [] }) => warnings) };
}

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

/** Reads a body that was not rendered: always its bytes, and its text or JSON when it is that. */
export async function readBody(
  body: Body,
  { contentType, headers }: Pick<PageResult, 'contentType' | 'headers'>,
  { formats }: Pick<FetchRequest, 'formats'>,
): Promise<PagePart> {
  const kind = kindOf(contentType, body.data.subarray(0, sniffBytes));
  const part: PagePart = {
    raw: toBytes(body, contentType, parseFileName(headers['content-disposition'])),
    warnings: body.truncated ? ['body_truncated'] : [],
  };
  if (kind !== 'json' && kind !== 'text' && kind !== 'html') return part;
  const { text } = await decodeBody(body.data, contentType);
  if (formats.includes('text')) part.text = text;
  if (formats.includes('markdown')) part.markdown = kind === 'json' ? `\`\`\`json\n${text}\n\`\`\`` : text;
  if (kind !== 'json') return part;
  const { warnings = [], ...json } = await readJson(text);
  return { ...part, ...json, warnings: [...(part.warnings ?? []), ...warnings] };
}

/** Reads the JSON of a document that is JSON. */
export async function readJsonBody({ data }: Body, contentType: string | null): Promise<PagePart> {
  if (kindOf(contentType, data.subarray(0, sniffBytes)) !== 'json') return {};
  return readJson((await decodeBody(data, contentType)).text);
}

/** A page is no JSON: without fields to extract, there is nothing that the format could return. */
export function warnOfNoJson(page: PageResult, { formats, extract }: Pick<FetchRequest, 'formats' | 'extract'>): PageResult {
  const isExplained = page.warnings.some((warning) => warning.startsWith('json_'));
  if (!formats.includes('json') || extract !== null || page.json !== null || isExplained) return page;
  return { ...page, warnings: [...page.warnings, 'json_needs_extract'] };
}

async function readJson(text: string): Promise<PagePart> {
  const isWithin = text.length <= jsonCharsMax && section('json', () => isJsonWithin(text, jsonBounds));
  await pause();
  if (!isWithin) return { warnings: ['json_too_large'] };
  try {
    return { json: section('json', (): unknown => JSON.parse(text)) };
  } catch {
    return { warnings: ['json_invalid'] };
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
