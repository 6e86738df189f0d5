import { render } from 'preact';
import { sessionIdIn, socketAddress } from '../shared/link/address.ts';
import { forgetToken } from '../shared/link/forget-token.ts';
import { App } from './app.tsx';
import { RemoteWindow } from './remote-window.ts';

forgetToken();

const path = `/v1/session/${sessionIdIn(location.pathname)}/vnc`;
const remote = new RemoteWindow({ socketUrl: socketAddress(location, `${path}/websockify`), pageUrl: `${path}/vnc.html` });
const root = document.getElementById('app');
if (root) render(<App remote={remote} />, root);
