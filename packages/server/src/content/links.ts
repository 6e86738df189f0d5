import { getDomain } from 'tldts';
import { collapse, elementsNamed, resolveUrl, webSchemes, type CheerioAPI, type Element } from './dom.ts';
import type { Link } from './model.ts';
import type { Warnings } from './warnings.ts';

/** Nobody follows more links of one page. */
const linksMax = 10_000;
const textCharsMax = 500;
/** Of all addresses together: a long base makes them longer than the page. */
const addressCharsMax = 5_000_000;

/** The links to web pages, each address once, with the first non-empty text of its links. */
export function readLinks($: CheerioAPI, { base, url }: { base: string | null; url: string }, warnings: Warnings): Link[] {
  const isInternal = sameSite(url);
  const links = new Map<string, Link>();
  let charsLeft = addressCharsMax;
  for (const element of elementsNamed($, 'a', 'area')) {
    const { href, rel } = element.attribs;
    const address = href === undefined ? null : resolveUrl(href, base);
    if (address === null || !webSchemes.has(new URL(address).protocol)) continue;
    const existing = links.get(address);
    if (existing && existing.text !== '') continue;
    const text = labelOf($, element).slice(0, textCharsMax);
    if (existing) {
      existing.text = text;
      continue;
    }
    charsLeft -= address.length;
    if (links.size >= linksMax || charsLeft < 0) {
      warnings.add('links_cut');
      break;
    }
    links.set(address, { url: address, text, rel: rel?.trim() || null, internal: isInternal(address) });
  }
  return [...links.values()];
}

function labelOf($: CheerioAPI, element: Element): string {
  const label = collapse($(element).text());
  if (label !== '') return label;
  const { 'aria-label': aria, title, alt } = element.attribs;
  return collapse(aria || title || alt || $(element).find('img[alt]').attr('alt') || '');
}

/** Sites under a private public suffix, such as github.io, are different sites. */
function sameSite(page: string): (address: string) => boolean {
  const siteOf = (host: string): string => getDomain(host, { allowPrivateDomains: true }) ?? host;
  const host = URL.parse(page)?.hostname ?? '';
  const site = siteOf(host);
  const cached = new Map<string, boolean>([[host, true]]);
  return (address) => {
    const { hostname } = new URL(address);
    const internal = cached.get(hostname) ?? siteOf(hostname) === site;
    cached.set(hostname, internal);
    return internal;
  };
}
