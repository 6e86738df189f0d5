/** The functions of the page's side as source text, each with those that it uses. */
import * as acts from './page-act.ts';
import * as drags from './page-drag.ts';
import * as finds from './page-find.ts';
import * as leaving from './page-leaving.ts';
import * as shared from './page-natives.ts';
import * as reads from './page-read.ts';

const textOf = (...modules: readonly object[]): string =>
  modules
    .flatMap((module) => Object.values(module))
    .map(String)
    .join('\n');

/** One function of the modules, callable by itself in a page. */
const scriptsOf = <Module extends object>(module: Module, ...others: readonly object[]): Record<keyof Module, string> => {
  const functions = textOf(module, ...others);
  const call = (name: string): string => `(...given) => {\n${functions}\nreturn ${name}(...given);\n}`;
  return Object.fromEntries(Object.keys(module).map((name) => [name, call(name)])) as Record<keyof Module, string>;
};

export const scripts = {
  ...scriptsOf(finds, shared),
  ...scriptsOf(acts, shared),
  ...scriptsOf(reads, finds, shared),
  ...scriptsOf(drags, shared),
  ...scriptsOf(leaving),
};
