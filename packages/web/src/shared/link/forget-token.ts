/** Removes the token from the URL, the history and the Referer. A cookie replaces it. */
export function forgetToken(): void {
  if (location.search !== '') history.replaceState(null, '', location.pathname + location.hash);
}
