/** Decides when two URLs are one page. */

/** Parameters that campaigns and networks of advertisements add, and no page depends on. */
const trackingNames: ReadonlySet<string> = new Set(
  '_ga _gl _hsenc _hsmi _openstat dclid epik fbclid gbraid gclid gclsrc igshid li_fat_id mc_cid mc_eid mkt_tok msclkid oly_anon_id oly_enc_id rb_clickid s_cid srsltid ttclid twclid vero_id wbraid wickedid yclid ysclid'.split(
    ' ',
  ),
);
const isTracking = (name: string): boolean => trackingNames.has(name.toLowerCase()) || /^(?:utm|hsa|pk|mtm|matomo)_/i.test(name);

/** The URL without its fragment and without an empty query. */
export function withoutFragment(url: string): string {
  const address = URL.parse(url);
  if (!address) return url;
  address.hash = '';
  if (address.search === '') address.search = '';
  return address.href;
}

/**
 * The same for URLs of one page, to be compared and not to be requested (RFC 3986, section 6.2.2):
 * without fragment, default port, dot segments, encodings of characters that need none, tracking parameters,
 * and in one order of the other parameters.
 */
export function pageIdentity(url: string): string {
  const address = URL.parse(withoutFragment(url));
  if (!address) return url;
  const parameters = address.search
    .slice(1)
    .split('&')
    .filter((each) => each !== '' && !isTracking(each.split('=', 1)[0] ?? ''))
    .map(normalizeEncoding);
  const order = parameters.sort((left, right) => compare(left.split('=', 1)[0] ?? '', right.split('=', 1)[0] ?? ''));
  return `${address.protocol}//${address.host}${normalizeEncoding(address.pathname)}${order.length > 0 ? `?${order.join('&')}` : ''}`;
}

const compare = (left: string, right: string): number => (left < right ? -1 : left > right ? 1 : 0);

const normalizeEncoding = (text: string): string =>
  text.replace(/%[\da-f]{2}/gi, (encoded) => {
    const character = String.fromCharCode(Number.parseInt(encoded.slice(1), 16));
    return /[\w.~-]/.test(character) ? character : encoded.toUpperCase();
  });
