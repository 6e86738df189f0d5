import { render } from 'preact';
import { App } from './app.tsx';
import { loadConfig } from './config.ts';
import { has } from './sign-in/credentials.ts';
import { completeSignIn } from './sign-in/dev-sign-in.ts';
import { getLiveViewCookie } from './sign-in/live-view-cookie.ts';
import { followLinks, redeemLink, revokeDroppedKeys } from './sign-in/sign-in-link.ts';
import { offerLiveViews } from '../shared/link/live-view-access.ts';
import { toastError } from './ui/toasts.ts';

const root = document.getElementById('app');
revokeDroppedKeys();
// A code or a link of the sign-in leaves the address before anything is shown.
const signedIn = Promise.all([completeSignIn(), redeemLink()]);
followLinks();
void loadConfig().catch(toastError);
void signedIn.catch(toastError).then(() => {
  if (root) render(<App />, root);
});

offerLiveViews(
  () => has('key'),
  (sessionId) => getLiveViewCookie(sessionId),
);
