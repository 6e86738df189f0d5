import { forgetToken } from '../shared/forget-token.ts';
import { askForLiveView, sessionOfLiveView, wasOpened } from '../shared/live-view-access.ts';

/** For a tab that is signed in to answer; one that answers later leads on from the sign-in page, too. */
const answerMs = 2000;
/** For its two requests. */
const openingMs = 15_000;

const isWithoutLink = document.querySelector<HTMLElement>('main')?.dataset['status'] === '401';
const sessionId = sessionOfLiveView(location.pathname);

forgetToken();
// Without a link, but perhaps with a sign-in.
if (isWithoutLink && sessionId !== null && !wasOpened(sessionId)) {
  const signIn = (): void => location.replace(`/dashboard/sessions/${encodeURIComponent(sessionId)}/live`);
  let timer = setTimeout(signIn, answerMs);
  askForLiveView(sessionId, () => {
    clearTimeout(timer);
    timer = setTimeout(signIn, openingMs);
  });
}
