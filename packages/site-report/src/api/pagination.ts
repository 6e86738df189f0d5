/** How an endpoint's lists are paged. */
import type { ApiEndpoint } from '@berth/contract';
import type { CapturedExchange, JsonValue } from '../exchange.ts';
import type { EndpointParams } from './params.ts';

type Pagination = ApiEndpoint['pagination'];

const compact = (name: string): string => name.toLowerCase().replaceAll(/[^a-z\d]/g, '');
const pageNames = new Set(['page', 'p', 'pg', 'pageno', 'pagenumber', 'pageindex', 'pagenum', 'currentpage', 'pagepage']);
const offsetNames = new Set(['offset', 'start', 'skip', 'from', 'startindex', 'pageoffset', 'first', 'startat']);
const sizeNames = new Set([
  'limit',
  'perpage',
  'pagesize',
  'size',
  'count',
  'top',
  'take',
  'rows',
  'maxresults',
  'pagelimit',
  'num',
  'hitsperpage',
  'n',
]);
const cursorNames =
  /^(?:(?:next|page|start|end|starting|ending)?(?:cursor|after|before)|(?:next)?pagetoken|nexttoken|continuation(?:token)?|scrollid|pagecursor|pageafter|sinceid|maxid|marker|nextmarker|resumetoken)$/;
const nextKeys = /^(?:nextcursor|endcursor|nextpagetoken|nexttoken|continuationtoken|continuation|cursor|nextmarker|scrollid)$/;
const nextLinks = /^(?:next|nexturl|nextlink|nextpage|nextpageurl|odatanextlink)$/;
const idsMax = 20;

export function readPagination(calls: readonly CapturedExchange[], { query }: EndpointParams): Pagination {
  const names = query.map(({ name }) => name);
  const size = names.filter((name) => sizeNames.has(compact(name)));
  const page = query.find(({ name, type }) => pageNames.has(compact(name)) && type === 'integer')?.name;
  const offset = query.find(({ name, type }) => offsetNames.has(compact(name)) && type === 'integer')?.name;
  const cursor = names.find((name) => cursorNames.test(compact(name)));
  const link = calls.find(({ responseHeaders }) => /rel="?next/i.test(responseHeaders.get('link') ?? ''));
  const next = nextOf(calls);
  const claim = (
    style: 'page' | 'offset' | 'cursor' | 'link',
    param: string | undefined,
    confidence: 'low' | 'medium' | 'high',
  ): Pagination => {
    const params = [...(param === undefined ? [] : [param]), ...size];
    const evidence = calls.filter(({ url }) => param === undefined || url.query.some(([name]) => name === param)).map(({ id }) => id);
    return { style, params, next: link ? 'header link' : (next?.path ?? null), confidence, evidence: evidence.slice(0, idsMax) };
  };
  if (page !== undefined) return claim('page', page, distinct(query, page) > 1 ? 'high' : 'medium');
  if (offset !== undefined && (size.length > 0 || distinct(query, offset) > 1))
    return claim('offset', offset, distinct(query, offset) > 1 ? 'high' : 'medium');
  if (link) return claim('link', cursor ?? paramOfLink(link, names), 'high');
  if (cursor !== undefined && (next || size.length > 0 || calls.some(hasList))) return claim('cursor', cursor, next ? 'high' : 'medium');
  if (next?.isLink) return claim('link', undefined, 'medium');
  return next?.value !== null && next !== null ? claim('cursor', undefined, 'low') : null;
}

const distinct = (query: EndpointParams['query'], name: string): number => query.find((param) => param.name === name)?.observed_values ?? 0;

function paramOfLink({ responseHeaders }: CapturedExchange, names: readonly string[]): string | undefined {
  const [, url = ''] = /<([^<>]{1,4000})>/.exec(responseHeaders.get('link') ?? '') ?? [];
  const inLink = [...new URLSearchParams(url.slice(url.indexOf('?') + 1)).keys()];
  return names.find((name) => inLink.includes(name) && !sizeNames.has(compact(name)));
}

const hasList = ({ responseJson }: CapturedExchange): boolean =>
  Array.isArray(responseJson) || (isObject(responseJson) && Object.values(responseJson).some((value) => Array.isArray(value)));

const isObject = (value: JsonValue | undefined): value is Record<string, JsonValue> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

interface Next {
  path: string;
  isLink: boolean;
  value: JsonValue;
}

/** Where replies name what comes next: at the top, or one level below, as in `meta`, `links` and `pageInfo`. */
function nextOf(calls: readonly CapturedExchange[]): Next | null {
  let empty: Next | null = null;
  for (const { responseJson } of calls) {
    const next = isObject(responseJson) ? nextIn(responseJson, '$', 2) : null;
    if (next && next.value !== null) return next;
    empty ??= next;
  }
  return empty;
}

const keysMax = 100;

function nextIn(object: Record<string, JsonValue>, path: string, depth: number): Next | null {
  const entries = Object.entries(object).slice(0, keysMax);
  for (const [key, value] of entries) {
    const name = compact(key);
    const isText = value === null || typeof value === 'string';
    if (nextKeys.test(name) && (isText || typeof value === 'number')) return { path: `${path}.${key}`, isLink: false, value };
    const isUrl = typeof value === 'string' && /^https?:|^\//.test(value);
    if (nextLinks.test(name) && isUrl) return { path: `${path}.${key}`, isLink: true, value };
    if (name === 'next' && isObject(value) && typeof value['href'] === 'string')
      return { path: `${path}.${key}.href`, isLink: true, value: value['href'] };
  }
  if (depth === 0) return null;
  for (const [key, value] of entries) {
    const next = isObject(value) ? nextIn(value, `${path}.${key}`, depth - 1) : null;
    if (next) return next;
  }
  return null;
}
