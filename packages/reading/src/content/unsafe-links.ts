/** Links that a visitor follows on purpose only: a crawler that follows them signs its user out, or changes something. */

/** Words of a path or query, with what separates them before and behind. */
const unsafeWords =
  /(?:^|[^a-z])(?:log[^a-z]?(?:out|off)|sign[^a-z]?(?:out|off)|end[^a-z]?session|abmelden|ausloggen|deconnexion|unsubscribe|opt[^a-z]?out|deactivate|(?:delete|remove|destroy|erase|purge|trash|cancel|revoke|unlink)|add[^a-z]to[^a-z](?:cart|basket|bag|wishlist))(?:[^a-z]|$)/;

/** Whether the path or the query of a URL names such an act, as in `/user_logout`, `/deleteAccount` and `?action=remove`. */
export function isUnsafeLink(url: string): boolean {
  const { pathname, search } = new URL(url);
  const text = `${pathname}${search}`.replace(/%(?:2[0-9a-f]|3[a-f])/gi, '/');
  return unsafeWords.test(text.replace(/([a-z])([A-Z])/g, '$1-$2').toLowerCase());
}
