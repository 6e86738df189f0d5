/** Turns the text of the address field into a URL; undefined when it is not valid. */
export function parseAddress(entry: string): string | undefined {
  const typed = entry.trim();
  if (typed === '') return undefined;
  const hasScheme = /^[a-z][a-z\d+.-]*:(?!\d)/i.test(typed);
  const isLocal = /^(localhost|127\.|\[::1\])/i.test(typed);
  const address = hasScheme ? typed : `${isLocal ? 'http' : 'https'}://${typed}`;
  // Browsers percent-encode a space in a host name instead of rejecting it.
  return URL.canParse(address) && !new URL(address).hostname.includes('%') ? address : undefined;
}
