/** The page scripts as source text, each with the functions it uses. */
import * as callbacks from '@berth/page-scripts/captcha-callback.ts';
import * as widgets from '@berth/page-scripts/captcha-widgets.ts';
import { scriptsOf } from '@berth/page-scripts/page-scripts.ts';

export const { readCaptcha: detectScript, fillAnswer: injectScript, forgetAnswer: clearScript } = scriptsOf(widgets);

/** An expression for the page's own context, where no argument can be passed: its text holds the options. */
export const callbackScript = (options: callbacks.CallbackOptions): string =>
  `(${scriptsOf(callbacks).runCallback})(${JSON.stringify(options)})`;
