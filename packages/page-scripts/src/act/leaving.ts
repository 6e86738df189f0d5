/** Detects that a page starts to navigate. Sent as text. */

/** Observes whether a click or a key starts a navigation. */
export function watchLeaving(): void {
  const state = globalThis as { berthLeaving?: boolean; navigation?: EventTarget & { transition: unknown } };
  const isWatched = state.berthLeaving !== undefined;
  state.berthLeaving = false;
  if (isWatched) return;
  // A form is submitted some time after its event.
  addEventListener('submit', (event) => {
    const { submitter } = event;
    const form = event.target instanceof HTMLFormElement ? event.target : null;
    const target = submitter?.getAttribute('formtarget') ?? (form && Element.prototype.getAttribute.call(form, 'target')) ?? '';
    if (form && !event.defaultPrevented && /^(_self|_top|_parent)?$/i.test(target)) state.berthLeaving = true;
  });
  if (!state.navigation) return;
  const { navigation } = state;
  navigation.addEventListener('navigate', (event) => {
    const { destination, hashChange, downloadRequest } = event as unknown as {
      destination: { sameDocument: boolean };
      hashChange: boolean;
      downloadRequest: string | null;
    };
    if (destination.sameDocument || hashChange || downloadRequest !== null) return;
    state.berthLeaving = true;
    // Only after the page's listeners have run is it known whether it intercepts the navigation.
    setTimeout(() => {
      if (event.defaultPrevented || navigation.transition) state.berthLeaving = false;
    }, 0);
  });
}

/** `gone`: the document was replaced after `watchLeaving`. */
export async function leavingState(): Promise<'staying' | 'leaving' | 'gone'> {
  // Tasks that the page has queued run first.
  await new Promise((resolve) => setTimeout(resolve, 0));
  const { berthLeaving } = globalThis as { berthLeaving?: boolean };
  if (berthLeaving === undefined) return 'gone';
  return berthLeaving ? 'leaving' : 'staying';
}

export function isLoaded(): boolean {
  return document.readyState === 'complete';
}
