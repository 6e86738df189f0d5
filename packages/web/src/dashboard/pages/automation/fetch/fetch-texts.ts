/** The formats of a fetch as texts, to compare and to save them. */
import type { FetchFormat, FetchResponse } from '@berth/contract';

export const formatNames: Readonly<Record<FetchFormat, string>> = {
  html: 'HTML',
  raw: 'Raw bytes',
  markdown: 'Markdown',
  text: 'Text',
  links: 'Links',
  metadata: 'Metadata',
  screenshot: 'Screenshot',
  pdf: 'PDF',
  json: 'Extracted values',
  tables: 'Tables',
  har: 'HAR',
  snapshot: 'Snapshot',
};

const toJson = (value: unknown): string => JSON.stringify(value, null, 2);

/** What is compared line by line; null where the result does not have the format. Images and files have no lines. */
export function textOf(result: FetchResponse, format: FetchFormat): string | null {
  switch (format) {
    case 'html':
      return result.html;
    case 'markdown':
      return result.markdown;
    case 'text':
      return result.text;
    case 'snapshot':
      return result.snapshot;
    case 'links':
      return result.links && result.links.map(({ url, text }) => `${url}  ${text.replaceAll(/\s+/g, ' ')}`).join('\n');
    case 'metadata':
      return result.page && toJson(result.page);
    case 'json':
      return result.json === null || result.json === undefined ? null : toJson(result.json);
    case 'tables':
      return (
        result.tables && result.tables.map(({ headers, rows }) => [headers, ...rows].map((row) => row.join('\t')).join('\n')).join('\n\n')
      );
    default:
      return null;
  }
}

/** The formats that a result has, in the contract's order. */
export function formatsOf(result: FetchResponse, formats: readonly FetchFormat[]): FetchFormat[] {
  const values: Readonly<Record<FetchFormat, unknown>> = {
    html: result.html,
    raw: result.raw,
    markdown: result.markdown,
    text: result.text,
    links: result.links,
    metadata: result.page,
    screenshot: result.screenshot,
    pdf: result.pdf,
    json: result.json,
    tables: result.tables,
    har: result.har,
    snapshot: result.snapshot,
  };
  return formats.filter((format) => values[format] !== null && values[format] !== undefined);
}
