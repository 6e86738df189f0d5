/**
 * Code that runs inside a page, in an isolated context: each function of this
 * folder is sent to the browser as text.
 *
 * A function here may use the functions of its own file, and of the files whose
 * text is sent with it, and nothing else: no runtime imports, no constants of the
 * module, nothing of Node. A page may have shadowed what it can reach, so nodes
 * are read by the getters of their prototypes.
 */

/** The source text of all functions of these modules. */
export const sourceOf = (...modules: readonly object[]): string =>
  modules
    .flatMap((module) => Object.values(module))
    .map(String)
    .join('\n');

/** Each function of `module` as a callable expression for a page, with the functions of `others` in scope. */
export const scriptsOf = <Module extends object>(module: Module, ...others: readonly object[]): Record<keyof Module, string> => {
  const functions = sourceOf(module, ...others);
  const call = (name: string): string => `(...given) => {\n${functions}\nreturn ${name}(...given);\n}`;
  return Object.fromEntries(Object.keys(module).map((name) => [name, call(name)])) as Record<keyof Module, string>;
};
