import { render } from 'preact';
import { sessionIdIn, socketAddress } from '../shared/link/address.ts';
import { forgetToken } from '../shared/link/forget-token.ts';
import { App } from './app.tsx';
import { LiveView } from './live-view.ts';

forgetToken();

const path = `/v1/session/${sessionIdIn(location.pathname)}/live-view`;
const view = new LiveView({ socketUrl: socketAddress(location, `${path}/socket`), pageUrl: path });
const root = document.getElementById('app');
if (root) render(<App view={view} />, root);
view.link.open();
