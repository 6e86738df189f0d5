/** Takes the token out of the address bar, the history and the next Referer: from now on a cookie stands for it. */
export function forgetToken(): void {
  if (location.search !== '') history.replaceState(null, '', location.pathname + location.hash);
}
