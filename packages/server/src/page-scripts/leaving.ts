/** Whether a page is on its way to another, in its isolated world. Sent as text. */

/** From now on tells whether a click or a key has sent the page somewhere else. */
export function watchLeaving(): void {
  const seen = globalThis as { berthLeaving?: boolean; navigation?: EventTarget & { transition: unknown } };
  const isWatched = seen.berthLeaving !== undefined;
  seen.berthLeaving = false;
  if (isWatched) return;
  // A form is sent some time after its event.
  addEventListener('submit', (event) => {
    const { submitter } = event;
    const form = event.target instanceof HTMLFormElement ? event.target : null;
    const target = submitter?.getAttribute('formtarget') ?? (form && Element.prototype.getAttribute.call(form, 'target')) ?? '';
    if (form && !event.defaultPrevented && /^(_self|_top|_parent)?$/i.test(target)) seen.berthLeaving = true;
  });
  if (!seen.navigation) return;
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
export async function isLeaving(): Promise<'staying' | 'leaving' | 'gone'> {
  // What the page has put off for a moment comes first.
  await new Promise((resolve) => setTimeout(resolve, 0));
  const { berthLeaving } = globalThis as { berthLeaving?: boolean };
  if (berthLeaving === undefined) return 'gone';
  return berthLeaving ? 'leaving' : 'staying';
}
