/** The cookie that replaces the view token after the first load of a page. */

/** Name of the cookie. With the prefix `__Secure-`, browsers refuse the cookie from a page without TLS. */
export const viewCookieName = (origin: string): string => (origin.startsWith('https:') ? '__Secure-berth-view' : 'berth-view');

/**
 * The values of all cookies of that name. A browser sends one for each matching
 * path and domain, possibly planted by other sites and first; a parser that
 * returns an object would drop all but one.
 */
export const viewCookiesOf = (header: string | undefined, name: string): string[] =>
  (header ?? '')
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${name}=`))
    .map((pair) => pair.slice(name.length + 1))
    .filter((value) => value !== '');
