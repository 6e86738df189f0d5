/**
 * How a tab without a credential opens a live view by its bare address: it asks the other tabs of this origin, and one
 * that is signed in exchanges its credential for the cookie of that live view. The credential never leaves its tab, and
 * neither it nor a token is in an address that a person sees.
 */
const channelName = 'berth-live-view';
/** Set before a live view is opened by its cookie. A browser that keeps no cookies must not be led in circles. */
const openedName = 'berth-live-view-opened';

/** `opening` comes at once from a tab that tries, `opened` when the browser has the cookie. */
type Message = { type: 'asked' | 'opening' | 'opened'; sessionId: string };

const isMessage = (data: unknown): data is Message =>
  typeof data === 'object' && data !== null && 'type' in data && 'sessionId' in data && typeof data.sessionId === 'string';

// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a channel reaches its own origin only
const post = (channel: BroadcastChannel, message: Message): void => channel.postMessage(message);

const livePath = /^\/v1\/session\/([\w-]+)\/live-view$/;

/** The session whose live view has this path; null for other paths. */
export const sessionOfLiveView = (path: string): string | null => livePath.exec(path)?.[1] ?? null;

/** Asks the other tabs for the live view, and opens it in this tab when one has got the cookie, also later. `onOpening`: one tries. */
export function askForLiveView(sessionId: string, onOpening: () => void = () => {}): void {
  const channel = new BroadcastChannel(channelName);
  channel.addEventListener('message', ({ data }: MessageEvent<unknown>) => {
    if (!isMessage(data) || data.sessionId !== sessionId) return;
    if (data.type === 'opening') onOpening();
    if (data.type === 'opened') openLiveView(sessionId);
  });
  post(channel, { type: 'asked', sessionId });
}

/** Answers tabs that ask, if this one is signed in. `getCookie` fails where this tab cannot open the live view either: another one may. */
export function offerLiveViews(canTry: () => boolean, getCookie: (sessionId: string) => Promise<void>): void {
  const channel = new BroadcastChannel(channelName);
  channel.addEventListener('message', ({ data }: MessageEvent<unknown>) => {
    if (!isMessage(data) || data.type !== 'asked' || !canTry()) return;
    const { sessionId } = data;
    post(channel, { type: 'opening', sessionId });
    getCookie(sessionId).then(
      () => post(channel, { type: 'opened', sessionId }),
      () => undefined,
    );
  });
}

/** Leads to the live view, whose cookie this browser has. */
export function openLiveView(sessionId: string): void {
  sessionStorage.setItem(openedName, sessionId);
  location.replace(`/v1/session/${encodeURIComponent(sessionId)}/live-view`);
}

/** Whether this tab comes from `openLiveView`, and so the cookie was not taken. Forgets it. */
export function wasOpened(sessionId: string): boolean {
  const opened = sessionStorage.getItem(openedName);
  sessionStorage.removeItem(openedName);
  return opened === sessionId;
}
