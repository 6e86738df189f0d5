import { getDomain } from 'tldts';
import { collapse, elementsNamed, resolveUrl, webSchemes, type CheerioAPI, type Element } from './dom.ts';
import type { Link } from './model.ts';
import type { Warnings } from './warnings.ts';

/** A page with more of them is a dump, and nobody follows them all. */
const linksMax = 10_000;
const textCharsMax = 500;
/** Of all addresses together, which a long base makes longer than the page. */
const addressCharsMax = 5_000_000;

/** The links to web pages, each address once, with the first text that one of them bears. */
export function readLinks($: CheerioAPI, { base, url }: { base: string | null; url: string }, warnings: Warnings): Link[] {
  const isInternal = sameSite(url);
  const links = new Map<string, Link>();
  let charsLeft = addressCharsMax;
  for (const element of elementsNamed($, 'a', 'area')) {
    const { href, rel } = element.attribs;
    const address = href === undefined ? null : resolveUrl(href, base);
    if (address === null || !webSchemes.has(new URL(address).protocol)) continue;
    const known = links.get(address);
    if (known && known.text !== '') continue;
    const text = labelOf($, element).slice(0, textCharsMax);
    if (known) {
      known.text = text;
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

/** Sites under a public suffix that hosts them for others, such as github.io, are strangers to each other. */
function sameSite(page: string): (address: string) => boolean {
  const siteOf = (host: string): string => getDomain(host, { allowPrivateDomains: true }) ?? host;
  const host = URL.parse(page)?.hostname ?? '';
  const site = siteOf(host);
  const known = new Map<string, boolean>([[host, true]]);
  return (address) => {
    const { hostname } = new URL(address);
    const internal = known.get(hostname) ?? siteOf(hostname) === site;
    known.set(hostname, internal);
    return internal;
  };
}
