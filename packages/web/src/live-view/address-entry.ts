/** What a person typed into the address field, as an address; undefined where it is none. */
export function readAddress(entry: string): string | undefined {
  const typed = entry.trim();
  if (typed === '') return undefined;
  const hasScheme = /^[a-z][a-z\d+.-]*:(?!\d)/i.test(typed);
  const isLocal = /^(localhost|127\.|\[::1\])/i.test(typed);
  const address = hasScheme ? typed : `${isLocal ? 'http' : 'https'}://${typed}`;
  // Browsers take a space for a letter of a name.
  return URL.canParse(address) && !new URL(address).hostname.includes('%') ? address : undefined;
}
