/** Structured data of the pages, by type. */
import type { InspectSite } from '@berth/contract';
import { isJsonLd, parseJsonLd } from '@berth/reading';
import { isObject } from '../auth/credentials.ts';
import type { JsonValue, ReportInput } from '../exchange.ts';
import { readPages } from '../page/pages.ts';
import { sourceOf } from '../page/tree.ts';

type StructuredData = InspectSite['structured_data'][number];

const typesMax = 100;
const jsonCharsMax = 500_000;
const nodesMax = 20_000;
const typeCharsMax = 100;

export function readStructuredData(input: ReportInput): StructuredData[] {
  const counts = new Map<string, StructuredData>();
  const add = (format: StructuredData['format'], name: string): void => {
    const type = name.trim().slice(0, typeCharsMax);
    if (type === '') return;
    const key = `${format} ${type}`;
    const before = counts.get(key);
    if (before) before.count += 1;
    else if (counts.size < typesMax) counts.set(key, { type, format, count: 1 });
  };
  for (const { tree } of readPages(input)) {
    for (const script of tree.named('script'))
      if (isJsonLd(script.attributes.get('type'))) for (const type of jsonLdTypes(sourceOf(script))) add('json_ld', type);
    for (const { name, attributes } of tree.elements) {
      for (const type of wordsOf(attributes.get('itemtype'))) add('microdata', lastSegment(type));
      for (const type of wordsOf(attributes.get('typeof'))) add('rdfa', lastSegment(type));
      if (name !== 'meta') continue;
      const property = (attributes.get('property') ?? attributes.get('name') ?? '').toLowerCase();
      if (property === 'og:type') add('open_graph', attributes.get('content') ?? '');
      if (property === 'twitter:card') add('twitter', attributes.get('content') ?? '');
    }
  }
  return [...counts.values()];
}

const wordsOf = (value: string | undefined): string[] => (value === undefined ? [] : value.trim().split(/\s+/, 5));
const lastSegment = (type: string): string => type.slice(Math.max(type.lastIndexOf('/'), type.lastIndexOf('#'), type.lastIndexOf(':')) + 1);

/** Types of all nested nodes, since a page describes its product within its breadcrumb as often as beside it. */
function jsonLdTypes(text: string): string[] {
  if (text.length > jsonCharsMax) return [];
  const types: string[] = [];
  const stack = [parseJsonLd(text) as JsonValue | undefined];
  for (let nodes = 0; stack.length > 0 && nodes < nodesMax; nodes += 1) {
    const value = stack.pop();
    if (Array.isArray(value)) for (const item of value) stack.push(item);
    if (!isObject(value)) continue;
    const type = Object.hasOwn(value, '@type') ? value['@type'] : undefined;
    for (const name of Array.isArray(type) ? type : [type]) if (typeof name === 'string') types.push(lastSegment(name));
    for (const item of Object.values(value)) if (typeof item === 'object' && item !== null) stack.push(item);
  }
  return types;
}
