import { forgetToken } from '../shared/link/forget-token.ts';
import { askForLiveView, sessionOfLiveView, wasOpened } from '../shared/link/live-view-access.ts';

/** Time for a signed-in tab to answer. One that answers later still opens the live view, from the sign-in page. */
const answerMs = 2000;
/** Time for the two requests of the tab that answered. */
const openingMs = 15_000;

const isWithoutLink = document.querySelector<HTMLElement>('main')?.dataset['status'] === '401';
const sessionId = sessionOfLiveView(location.pathname);

forgetToken();
// The tab has no link, but a tab that is signed in may answer.
if (isWithoutLink && sessionId !== null && !wasOpened(sessionId)) {
  const signIn = (): void => location.replace(`/dashboard/sessions/${encodeURIComponent(sessionId)}/live`);
  let timer = setTimeout(signIn, answerMs);
  askForLiveView(sessionId, () => {
    clearTimeout(timer);
    timer = setTimeout(signIn, openingMs);
  });
}
