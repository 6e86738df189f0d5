/** The functions of the page's side as source text, each with those that it uses. */
import * as callbacks from './page-callback.ts';
import * as widgets from './page-widgets.ts';

const callable = (module: object, name: string): string => {
  const functions = Object.values(module).map(String).join('\n');
  return `(...given) => {\n${functions}\nreturn ${name}(...given);\n}`;
};

export const lookScript = callable(widgets, 'look');
export const giveScript = callable(widgets, 'give');
export const takeBackScript = callable(widgets, 'takeBack');

/** An expression, for a world in which nothing is ours: the order stands in its text. */
export const callbackScript = (order: callbacks.CallbackOrder): string => `(${callable(callbacks, 'callBack')})(${JSON.stringify(order)})`;
