/** Where a page gets its tokens against cross-site requests. */
import type { InspectAuth } from '@berth/contract';
import type { ReportInput } from './exchange.ts';
import { readPages } from './page/pages.ts';
import { readCookies } from './site/set-cookies.ts';

export type CsrfSource = Pick<InspectAuth['csrf'][number], 'source' | 'source_name'>;

/** Where the token stands before a request sends it as `sentAs`: the page first, since it is the easiest to read. */
export function csrfSource(placeholders: ReadonlySet<string>, input: ReportInput, sentAs: string): CsrfSource {
  const pages = readPages(input);
  for (const [source, element, attribute] of [
    ['meta', 'meta', 'content'],
    ['hidden', 'input', 'value'],
  ] as const) {
    for (const { tree } of pages) {
      const holder = tree.named(element).find(({ attributes }) => placeholders.has(attributes.get(attribute) ?? ''));
      if (holder) return { source, source_name: holder.attributes.get('name') ?? null };
    }
  }
  const locations = input.secrets.filter(({ placeholder }) => placeholders.has(placeholder)).flatMap((secret) => secret.locations);
  const cookie = locations.find(({ position }) => position === 'set_cookie' || position === 'cookie_jar' || position === 'request_cookie');
  if (cookie) return { source: 'cookie', source_name: cookie.name };
  const header = locations.find(({ position }) => position === 'response_header');
  if (header) return { source: 'header', source_name: header.name };
  const body = locations.find(({ position }) => position === 'response_body' || position === 'page_html');
  if (body) return { source: 'body', source_name: body.name };
  const doubled = /xsrf/i.test(sentAs) ? readCookies(input).find(({ name }) => /xsrf/i.test(name)) : undefined;
  return doubled ? { source: 'cookie', source_name: doubled.name } : { source: 'unknown', source_name: null };
}
