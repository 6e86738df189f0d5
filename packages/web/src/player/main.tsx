import { render } from 'preact';
import { forgetToken } from '../shared/link/forget-token.ts';
import { App } from './app.tsx';
import { Player } from './player.ts';

forgetToken();

const player = new Player();
const root = document.getElementById('app');
if (root) render(<App player={player} />, root);
void player.load();
