import { getDomain } from 'tldts';
import { cutText } from './text.ts';
import { redactUrl } from '../secrets/redact/redact.ts';

const urlMax = 2048;
/** Maximum characters that are inspected of an address that a browser reports. */
const inspectedMax = 8192;
/** Names have at most 253; a URL may have any. */
const hostCharsMax = 255;

/**
 * The site of a URL: its registrable domain, or its host when it has none.
 * Private suffixes such as github.io count as suffixes. Empty unless http or
 * https.
 */
export function domainOf(reported: string): string {
  const address = reported.slice(0, inspectedMax);
  if (!URL.canParse(address)) return '';
  const { protocol, hostname } = new URL(address);
  if (protocol !== 'http:' && protocol !== 'https:') return '';
  const host = hostname.replace(/^\[|[\].]$/g, '');
  // A copy: both are parts of the whole URL, and sites are remembered.
  return cutText(getDomain(host, { allowPrivateDomains: true }) ?? host, hostCharsMax);
}

/** The site of a host name or IP address. */
export const domainOfHost = (host: string): string => domainOf(`http://${host}/`) || domainOf(`http://[${host}]/`);

/** The page of an address; empty where it is no absolute URL. */
export const pageOf = (address: string): string =>
  redactUrl(URL.parse(address.slice(0, inspectedMax))?.href ?? '', { placeholder: '…', rule: 'bare', charsMax: urlMax });
