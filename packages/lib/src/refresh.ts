/** Refreshes: addresses to which a document sends its visitor on by itself, by a header or `<meta http-equiv=refresh>`. */

/** Maximum delay of a refresh that a fetch follows. A page that shows “You are being redirected in five seconds” is none to read. */
export const followedMsMax = 5000;
/** Delay within which a page that loads itself again expects another answer, by a cookie of the first. Later ones keep a page fresh. */
export const reloadMsMax = 1000;
/** Maximum length of a value: longer ones do not lead anywhere. */
const valueCharsMax = 8192;

export interface Refresh {
  delayMs: number;
  /** Absolute URL with http:// or https://. */
  url: string;
}

/** Whether a refresh is a redirect, rather than a page that keeps itself fresh or that changes to another one some time. */
export const isRedirect = ({ delayMs, url }: Refresh, { from, withinMs }: { from: string; withinMs: number }): boolean =>
  delayMs <= (isSelf(url, from) ? Math.min(reloadMsMax, withinMs) : withinMs);

/** Whether an address is that of the document itself, to be loaded again. */
export const isSelf = (url: string, from: string): boolean => withoutFragment(url) === withoutFragment(from);

export function withoutFragment(url: string): string {
  const parsed = URL.parse(url);
  if (parsed) parsed.hash = '';
  return parsed?.href ?? url;
}

/** The one that a browser obeys: the shortest, of equal ones the last. Null where there is none, or none to a web address. */
export function refreshOf(values: readonly string[], { base, from }: { base: string | null; from: string }): Refresh | null {
  let chosen: Refresh | null = null;
  for (const value of values) {
    const { delayMs, target } = parseRefresh(value) ?? {};
    if (delayMs === undefined || target === undefined) continue;
    const url = target === '' ? URL.parse(from) : URL.parse(target, URL.parse(base ?? '', from)?.href ?? from);
    if (!url || !/^https?:$/.test(url.protocol)) continue;
    if (chosen === null || delayMs <= chosen.delayMs) chosen = { delayMs, url: url.href };
  }
  return chosen;
}

/**
 * Reads a value as the HTML standard has it: seconds, then `;`, `,` or a blank, then the address, with or without `url=`
 * and quotes. `target` is empty for the document itself. Null where a browser ignores it.
 */
export function parseRefresh(value: string): { delayMs: number; target: string } | null {
  const [, digits = '', behind = ''] = /^\s*(\d*)([^]*)$/.exec(value.slice(0, valueCharsMax)) ?? [];
  if (digits === '' && !behind.startsWith('.')) return null;
  const rest = behind.replace(/^[\d.]*/, '');
  if (rest !== '' && !/^[;,\s]/.test(rest)) return null;
  const stated = rest.replace(/^\s*[;,]?\s*/, '');
  const address = stated.replace(/^url\s*=\s*/i, '');
  const [, , quoted] = /^(["'])([^]*?)(?:\1|$)/.exec(address) ?? [];
  return { delayMs: Number(digits === '' ? 0 : digits) * 1000, target: (quoted ?? address).trim() };
}
