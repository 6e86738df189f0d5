/** Cost, latency and quality of viewing. */
import { churn } from './view/churn.ts';
import { firstFrame } from './view/first-frame.ts';
import { kinds } from './view/kinds.ts';
import { moving } from './view/moving.ts';
import { recording } from './view/recording.ts';
import { stalled } from './view/stalled.ts';
import { window } from './view/window.ts';

export const view = { first: firstFrame, moving, stalled, churn, recording, window, kinds };
