/** Whether a page is on its way to another, in its isolated world. Sent as text. */

/** From now on tells whether a click or a key has sent the page somewhere else. */
export function watchLeaving(): void {
  const seen = globalThis as { berthLeaving?: boolean; navigation?: EventTarget & { transition: unknown } };
  const isWatched = seen.berthLeaving !== undefined;
  seen.berthLeaving = false;
  if (isWatched || !seen.navigation) return;
  const { navigation } = seen;
  navigation.addEventListener('navigate', (event) => {
    const { destination, hashChange, downloadRequest } = event as unknown as {
      destination: { sameDocument: boolean };
      hashChange: boolean;
      downloadRequest: string | null;
    };
    if (destination.sameDocument || hashChange || downloadRequest !== null) return;
    seen.berthLeaving = true;
    // Whether the page takes the navigation into its own hands is only known when its listeners have run.
    setTimeout(() => {
      if (event.defaultPrevented || navigation.transition) seen.berthLeaving = false;
    }, 0);
  });
}

/** `gone`: this document has come since. */
export function isLeaving(): 'staying' | 'leaving' | 'gone' {
  const { berthLeaving } = globalThis as { berthLeaving?: boolean };
  if (berthLeaving === undefined) return 'gone';
  return berthLeaving ? 'leaving' : 'staying';
}
