/** Selectors that survive a new build of a site. */
import type { Selector } from '@berth/contract';
import { hasValue, isStable, type Fingerprint } from '@berth/page-scripts/locate/fingerprint.ts';

const selectorCharsMax = 500;
/** A class, id or attribute with a quoted value of a CSS selector. */
const namePattern = /([.#])((?:[\w-]|\\.)+)/g;

/** The CSS selector without generated classes and ids; null where it has none, or where nothing specific is left. */
export function withoutGeneratedNames(selector: Selector): string | null {
  const css = typeof selector === 'string' ? selector : selector.length === 1 ? (selector[0] ?? '') : '';
  if (css === '' || css.length > selectorCharsMax || /^[a-z]+\//.test(css) || /["'\\]/.test(css)) return null;
  let replaced = 0;
  const stable = css.replaceAll(namePattern, (whole, mark: string, name: string) => {
    if (isStable(name)) return whole;
    replaced += 1;
    const prefix = /^[a-z]{3,}(?:[-_][a-z]{3,})*(?=[-_])/i.exec(name)?.[0] ?? '';
    const attribute = mark === '#' ? 'id' : 'class';
    return prefix === '' || prefix.toLowerCase() === 'css' ? '' : `[${attribute}*="${prefix}"]`;
  });
  const isSpecific = /[.#[]/.test(stable) && !/(^|[\s>+~])([>+~,]|$)/.test(stable.trim());
  return replaced > 0 && isSpecific ? stable.trim() : null;
}

const ariaRoles: Record<string, string> = {
  button: 'button',
  link: 'link',
  select: 'combobox',
  textarea: 'textbox',
  'input text': 'textbox',
  'input email': 'textbox',
  'input tel': 'textbox',
  'input url': 'textbox',
  'input search': 'searchbox',
  'input checkbox': 'checkbox',
  'input radio': 'radio',
  'input submit': 'button',
};

/** Best first: what people write for tests, then what programs read, then what people see. */
export function selectorsOf({ tag, role, name, attributes }: Fingerprint): string[] {
  const quoted = (value: string): string => `"${value.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;
  const aria = ariaRoles[role] ?? (/^[a-z]+$/.test(role) && role !== tag ? role : undefined);
  return [
    attributes['testid'] === undefined ? null : `testid/${attributes['testid']}`,
    attributes['id'] === undefined ? null : `[id=${quoted(attributes['id'])}]`,
    attributes['name'] === undefined ? null : `${tag}[name=${quoted(attributes['name'])}]`,
    aria === undefined || name === '' || hasValue(name) || /[[\]]/.test(name) ? null : `aria/${name}[role="${aria}"]`,
    attributes['itemprop'] === undefined ? null : `${tag}[itemprop=${quoted(attributes['itemprop'])}]`,
  ].filter((selector) => selector !== null);
}
