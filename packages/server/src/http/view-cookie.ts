/** The cookie that takes a token's place after the first load of a page for people who watch. */

/** The prefix makes browsers refuse it from a page without TLS. */
export const viewCookieName = (origin: string): string => (origin.startsWith('https:') ? '__Secure-berth-view' : 'berth-view');

/**
 * The values of all cookies of that name. A browser sends one for each path
 * and domain that fits, those of strangers among them and even first; what
 * reads cookies into an object would keep one.
 */
export const viewCookiesOf = (header: string | undefined, name: string): string[] =>
  (header ?? '')
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${name}=`))
    .map((pair) => pair.slice(name.length + 1))
    .filter((value) => value !== '');
