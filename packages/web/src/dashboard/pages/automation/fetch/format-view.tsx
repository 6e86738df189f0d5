import type { FetchFormat, FetchResponse } from '@berth/contract';
import { formatNames, textOf } from './fetch-texts.ts';
import { RowsView, TextBlock, ValueView } from '../values/value-view.tsx';

const fileNames: Partial<Record<FetchFormat, string>> = { html: 'page.html', markdown: 'page.md', text: 'page.txt', har: 'page.har' };

/** One format of a fetch. */
export function FormatView({ result, format }: { result: FetchResponse; format: FetchFormat }) {
  const label = formatNames[format];
  switch (format) {
    case 'html':
    case 'markdown':
    case 'text':
    case 'snapshot':
      return <TextBlock text={textOf(result, format) ?? ''} label={label} fileName={fileNames[format] ?? 'page.txt'} />;
    case 'har':
      return <TextBlock text={JSON.stringify(result.har, null, 2)} label={label} fileName="page.har" />;
    case 'links':
      return <LinkRows links={result.links ?? []} />;
    case 'tables':
      return (result.tables ?? []).length === 0 ? (
        <p class="muted">The page has no tables.</p>
      ) : (
        <ValueView value={result.tables} label="Tables" />
      );
    case 'raw':
      return <ValueView value={result.raw} label={result.raw?.filename ?? 'page'} />;
    case 'metadata':
      return <ValueView value={result.page} label="metadata" />;
    case 'screenshot':
      return <ValueView value={result.screenshot} label="Screenshot of the page" />;
    case 'pdf':
      return <ValueView value={result.pdf} label="page.pdf" />;
    case 'json':
      return <ValueView value={result.json} label="values" />;
  }
}

const LinkRows = ({ links }: { links: NonNullable<FetchResponse['links']> }) =>
  links.length === 0 ? (
    <p class="muted">The page has no links.</p>
  ) : (
    <RowsView
      columns={['text', 'url', 'internal']}
      rows={links.map(({ text, url, internal }) => ({ text, url, internal: internal ? 'yes' : 'no' }))}
      label="Links"
    />
  );
