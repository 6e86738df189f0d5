/** The functions of the page's side as source text, each with those that it uses. */
import * as callbacks from '../page-scripts/captcha-callback.ts';
import * as widgets from '../page-scripts/captcha-widgets.ts';
import { scriptsOf } from '../page-scripts/page-scripts.ts';

export const { look: lookScript, give: giveScript, takeBack: takeBackScript } = scriptsOf(widgets);

/** An expression, for a world in which nothing is ours: the order stands in its text. */
export const callbackScript = (order: callbacks.CallbackOrder): string => `(${scriptsOf(callbacks).callBack})(${JSON.stringify(order)})`;
