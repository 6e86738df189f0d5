/** Where a request may go by its address alone, and where a redirect leads. */
import { plainHost } from '../names/addresses.ts';
import { HttpError } from './failure.ts';

/**
 * The ports that Chromium refuses on every scheme of the web, whatever stands
 * there: the Fetch standard's bad ports, and 0. The gate's own list is longer
 * and yields to the operator's allow list; a browser's does not, so this one does not either.
 */
const unsafePorts = new Set([
  0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109, 110, 111, 113, 115,
  117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587,
  601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679,
  6697, 10_080,
]); // prettier-ignore

const defaultPorts: Readonly<Record<string, number>> = { 'http:': 80, 'https:': 443 };

export interface WebTarget {
  host: string;
  port: number;
  secure: boolean;
}

/** Throws {@link HttpError} for what is no web address and for a port that no browser opens. */
export function webTarget(url: URL): WebTarget {
  const defaultPort = defaultPorts[url.protocol];
  if (defaultPort === undefined) throw new HttpError('blocked_by_policy', 'net::ERR_DISALLOWED_URL_SCHEME');
  const port = url.port === '' ? defaultPort : Number(url.port);
  if (unsafePorts.has(port)) throw new HttpError('blocked_by_policy', 'net::ERR_UNSAFE_PORT');
  const host = plainHost(url.hostname);
  if (host === null) throw new HttpError('dns_failed', 'net::ERR_NAME_NOT_RESOLVED');
  return { host, port, secure: url.protocol === 'https:' };
}

const redirectStatuses = new Set([301, 302, 303, 307, 308]);

/**
 * The address that a reply sends on to; null when it is no redirect. A fragment
 * is inherited where the new address has none, and so are credentials within one origin. Throws {@link HttpError}.
 */
export function redirectTarget(from: URL, status: number, location: string | null): URL | null {
  if (!redirectStatuses.has(status) || location === null) return null;
  // Header values come one character for each byte: bytes beyond ASCII are escaped, as browsers do.
  const escaped = location.replace(/[\x80-\xff]/g, (byte) => `%${byte.charCodeAt(0).toString(16).toUpperCase()}`);
  const to = URL.parse(escaped, from.href);
  if (!to) throw new HttpError('aborted', 'net::ERR_INVALID_REDIRECT');
  if (defaultPorts[to.protocol] === undefined) throw new HttpError('blocked_by_policy', 'net::ERR_UNSAFE_REDIRECT');
  if (to.hash === '') to.hash = from.hash;
  if (to.origin === from.origin && to.username === '' && to.password === '') [to.username, to.password] = [from.username, from.password];
  return to;
}
