/** Navigates a tab: to an address, back or forward in its history, or by loading its page again. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Deadline } from '@berth/lib/deadline.ts';
import { traced } from '@berth/lib/tracing.ts';
import { ProtocolError, type Params } from '../../cdp/connection.ts';
import type { NavigationRequest, NavigationResult } from '../../interface.ts';
import type { Frames } from '../frames.ts';
import { NavigationSupersededError, NavigationWatch, type Begin, type NavigationDeps } from './navigation-watch.ts';

/** A page that navigates without end overtakes one navigation in fifteen, on a busy machine. */
const repeatsMax = 5;
/** The browser's refusal while a document takes the place of the one before, as of a reload that was given up. It has done nothing. */
const betweenDocuments = 'Not attached to an active page';
const betweenDocumentsMs = 20;

/** @throws NavigationError, TabNotFoundError, BrowserClosedError, or the signal's reason */
export function navigate(deps: NavigationDeps, request: NavigationRequest, signal: AbortSignal): Promise<NavigationResult> {
  // The host alone: the rest of a URL may hold secrets.
  const host = URL.parse(request.url)?.hostname ?? '';
  return traced('navigate', { 'server.address': host, 'berth.wait_until': request.waitUntil }, async (span) => {
    const result = await navigateUntilOwn(deps, request, new Deadline({ signal, timeoutMs: request.timeoutMs }));
    if (result.statusCode !== null) span.set({ 'http.response.status_code': result.statusCode });
    return result;
  });
}

/** Repeats a navigation that one of the page before has overtaken. */
async function navigateUntilOwn(deps: NavigationDeps, request: NavigationRequest, deadline: Deadline): Promise<NavigationResult> {
  const { url, referer } = request;
  // The caller says what is sent, so no policy shortens it.
  const params: Params<'Page.navigate'> = referer === undefined ? { url } : { url, referrer: referer, referrerPolicy: 'unsafeUrl' };
  const begin: Begin = ({ send }) => send('Page.navigate', params);
  for (let repeats = 0; ; repeats += 1) {
    const watch = new NavigationWatch(deps, request, deadline);
    try {
      return await watch.run(begin, repeats < repeatsMax);
    } catch (error) {
      if (!(error instanceof NavigationSupersededError)) throw error;
    } finally {
      watch.end();
    }
  }
}

type HistoryRequest = Omit<NavigationRequest, 'url'>;

export interface HistoryDeps {
  navigation: NavigationDeps;
  frames: Frames;
}

/** Returns null at the end of the history. @throws like `navigate`, and PageError */
export async function moveInHistory(
  { navigation, frames }: HistoryDeps,
  by: -1 | 1,
  { request, signal }: { request: HistoryRequest; signal: AbortSignal },
): Promise<NavigationResult | null> {
  const deadline = new Deadline({ signal, timeoutMs: request.timeoutMs });
  const { currentIndex, entries } = await frames.main.send('Page.getNavigationHistory', undefined, deadline);
  const entry = entries[currentIndex + by];
  if (!entry) return null;
  return navigateBy(navigation, { request, deadline }, ['Page.navigateToHistoryEntry', { entryId: entry.id }]);
}

/** @throws like `navigate` */
export function reload({ navigation }: HistoryDeps, request: HistoryRequest, signal: AbortSignal): Promise<NavigationResult> {
  const deadline = new Deadline({ signal, timeoutMs: request.timeoutMs });
  return navigateBy(navigation, { request, deadline }, ['Page.reload', {}]);
}

type HistoryCommand =
  | readonly ['Page.reload', Params<'Page.reload'>]
  | readonly ['Page.navigateToHistoryEntry', Params<'Page.navigateToHistoryEntry'>];

/** These commands are answered at once: the outcome is read from the page's events. */
async function navigateBy(
  deps: NavigationDeps,
  { request, deadline }: { request: HistoryRequest; deadline: Deadline },
  [method, params]: HistoryCommand,
): Promise<NavigationResult> {
  const watch = new NavigationWatch(deps, request, deadline);
  const begin: Begin = async ({ send, outcome }) => {
    for (;;) {
      try {
        await send(method, params);
        return await outcome;
      } catch (error) {
        if (!(error instanceof ProtocolError && error.answer === betweenDocuments && deadline.leftMs > 0)) throw error;
      }
      await sleep(betweenDocumentsMs, undefined, { signal: deadline.signal });
    }
  };
  try {
    return await watch.run(begin, false);
  } finally {
    watch.end();
  }
}
