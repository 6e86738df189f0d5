/**
 * Code that runs inside a page, in an isolated world: each function of this
 * folder is sent to the browser as text.
 *
 * So a function here may use the functions of its own file, and of the files
 * whose text is sent with it, and nothing else: no imports that exist at run
 * time, no constants of the module, nothing of Node. A page may have replaced
 * or shadowed whatever it can reach, so nodes are read by the getters of their
 * prototypes.
 */

/** The text of all functions of these modules. */
export const sourceOf = (...modules: readonly object[]): string =>
  modules
    .flatMap((module) => Object.values(module))
    .map(String)
    .join('\n');

/** Each function of `module` as an expression that can be called in a page, with the functions of `others` in reach. */
export const scriptsOf = <Module extends object>(module: Module, ...others: readonly object[]): Record<keyof Module, string> => {
  const functions = sourceOf(module, ...others);
  const call = (name: string): string => `(...given) => {\n${functions}\nreturn ${name}(...given);\n}`;
  return Object.fromEntries(Object.keys(module).map((name) => [name, call(name)])) as Record<keyof Module, string>;
};
