import { getDomain } from 'tldts';

const urlMax = 2048;

/**
 * The site that an address belongs to: its registrable domain, or its host
 * where it has none. Suffixes that are let to others, such as github.io, are
 * no site of their own. Empty for an address that is not http or https.
 */
export function domainOf(address: string): string {
  if (!URL.canParse(address)) return '';
  const { protocol, hostname } = new URL(address);
  if (protocol !== 'http:' && protocol !== 'https:') return '';
  const host = hostname.replace(/^\[|[\].]$/g, '');
  return getDomain(host, { allowPrivateDomains: true }) ?? host;
}

/** The same for a host, as an operator writes it. */
export const domainNamed = (host: string): string => domainOf(`http://${host}/`) || domainOf(`http://[${host}]/`);

/** What is kept of an address: neither credentials nor query nor fragment, where secrets travel. */
export function keptUrl(address: string): string {
  const [bare = ''] = address.split(/[?#]/, 1);
  if (!URL.canParse(bare)) return '';
  const url = new URL(bare);
  url.username = '';
  url.password = '';
  return url.href.slice(0, urlMax);
}
