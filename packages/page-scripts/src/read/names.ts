/** Roles, names, states and values of elements, as assistive technology reads them. Sent as text, together with `natives.ts`. */
import { oneLine, type Natives } from '../locate/natives.ts';

/** What the readings of one document share. Each text and list in it has a maximum, so that the work is linear in the page. */
export interface Naming {
  page: Natives;
  roles: ReadonlySet<string>;
  nativeRoles: Readonly<Record<string, string>>;
  /** The labels of the fields in a document or shadow tree, read once. */
  labels: Map<Node, Map<Element, Element>>;
  closedRoots: WeakMap<Element, ShadowRoot>;
}

export function createNaming(page: Natives, closedRoots: WeakMap<Element, ShadowRoot>): Naming {
  const roles =
    'alert alertdialog application article banner blockquote button caption cell checkbox code columnheader combobox complementary ' +
    'contentinfo definition dialog document feed figure form grid gridcell group heading img link list listbox listitem log main math menu ' +
    'menubar menuitem menuitemcheckbox menuitemradio meter navigation note option paragraph progressbar radio radiogroup region row ' +
    'rowheader scrollbar search searchbox separator slider spinbutton status switch tab table tablist tabpanel term textbox timer toolbar ' +
    'tooltip tree treegrid treeitem';
  const nativeRoles = {
    ...{ article: 'article', aside: 'complementary', blockquote: 'blockquote', button: 'button', dd: 'definition', details: 'group' },
    ...{ dialog: 'dialog', dt: 'term', fieldset: 'group', figure: 'figure', h1: 'heading', h2: 'heading', h3: 'heading', h4: 'heading' },
    ...{ h5: 'heading', h6: 'heading', hr: 'separator', iframe: 'iframe', frame: 'iframe', img: 'img', li: 'listitem', main: 'main' },
    ...{ math: 'math', menu: 'list', meter: 'meter', nav: 'navigation', ol: 'list', optgroup: 'group', option: 'option' },
    ...{ output: 'status', p: 'paragraph', pre: 'code', progress: 'progressbar', search: 'search', summary: 'button', svg: 'img' },
    ...{ table: 'table', td: 'cell', textarea: 'textbox', tr: 'row', ul: 'list', video: 'video', audio: 'audio' },
  };
  return { page, roles: new Set(roles.split(' ')), nativeRoles, labels: new Map(), closedRoots };
}

/** The role; '' for an element that says nothing beyond its content. */
export function ariaRole(naming: Naming, element: Element): string {
  const { page, roles } = naming;
  const given = page.attribute(element, 'role');
  if (given !== null) {
    for (const role of given.slice(0, 200).toLowerCase().split(/\s+/)) {
      if (role === 'image') return 'img';
      if (roles.has(role)) return role;
      if ((role === 'none' || role === 'presentation') && !page.matches(element, 'a[href], button, input, select, textarea, iframe'))
        return '';
    }
  }
  return nativeRole(naming, element);
}

export function nativeRole(naming: Naming, element: Element): string {
  const { page, nativeRoles } = naming;
  const name = page.name(element);
  switch (name) {
    case 'a':
    case 'area':
      return page.attribute(element, 'href') === null ? '' : 'link';
    case 'input':
      return inputRole(page, element);
    case 'select':
      return page.matches(element, '[multiple], [size]:not([size="0"], [size="1"])') ? 'listbox' : 'combobox';
    case 'img':
      return page.attribute(element, 'alt') === '' && page.attribute(element, 'aria-label') === null ? '' : 'img';
    case 'header':
    case 'footer':
      if (page.matches(element, ':is(article, aside, main, nav, section) *')) return '';
      return name === 'header' ? 'banner' : 'contentinfo';
    case 'form':
    case 'section':
      if (!page.matches(element, '[aria-label], [aria-labelledby], [title]')) return '';
      return name === 'form' ? 'form' : 'region';
    case 'th':
      return page.attribute(element, 'scope') === 'row' ? 'rowheader' : 'columnheader';
  }
  const role = Object.hasOwn(nativeRoles, name) ? (nativeRoles[name] ?? '') : '';
  return role === '' && element instanceof HTMLElement && isEditingHost(page, element) ? 'textbox' : role;
}

export function isEditingHost(page: Natives, element: Element): boolean {
  const given = page.attribute(element, 'contenteditable');
  return given !== null && given !== 'false';
}

export function inputRole(page: Natives, element: Element): string {
  const type = page.inputType(element);
  if (type === 'hidden') return '';
  if (/^(button|submit|reset|image|file|color)$/.test(type)) return 'button';
  if (type === 'checkbox') return page.attribute(element, 'switch') === null ? 'checkbox' : 'switch';
  if (type === 'radio') return 'radio';
  if (type === 'range') return 'slider';
  if (type === 'number') return 'spinbutton';
  if (page.attribute(element, 'list') !== null) return 'combobox';
  return type === 'search' ? 'searchbox' : 'textbox';
}

/** Elements that a visitor operates by mouse or keyboard. */
export function operableCss(): string {
  return (
    'a[href], area[href], button, input, select, textarea, summary, [tabindex]:not([tabindex^="-"]), [contenteditable]:not([contenteditable="false"]), ' +
    '[role="button"], [role="link"], [role="checkbox"], [role="radio"], [role="switch"], [role="tab"], [role="option"], [role="menuitem"], ' +
    '[role="menuitemcheckbox"], [role="menuitemradio"], [role="combobox"], [role="textbox"], [role="searchbox"], [role="slider"], ' +
    '[role="spinbutton"], [role="treeitem"]'
  );
}

/** Whether its tag or an attribute may make it one of `operableCss`, which takes the browser longer to say. */
export function mayBeOperable(page: Natives, element: Element, tag: string): boolean {
  if (/^(a|area|button|input|select|textarea|summary)$/.test(tag)) return true;
  return (
    page.attribute(element, 'role') !== null ||
    page.attribute(element, 'tabindex') !== null ||
    page.attribute(element, 'contenteditable') !== null
  );
}

/** Roles whose name is what they contain. */
export function isNamedByContent(role: string): boolean {
  return /^(alert|button|caption|checkbox|columnheader|heading|link|menuitem|menuitemcheckbox|menuitemradio|option|radio|rowheader|status|switch|tab|tooltip|treeitem)$/.test(
    role,
  );
}

export interface AccessibleName {
  name: string;
  /** Whether the name is the content, which then need not be said again. */
  isContent: boolean;
  /** Whether the page gives no name, and the name is a guess by the icon. */
  isGuess: boolean;
}

export function accessibleName(naming: Naming, element: Element, role: string): AccessibleName {
  const given = labelledName(naming, element) || nativeName(naming, element);
  if (given !== '') return { name: given, isContent: isNamedByContent(role), isGuess: false };
  const { page } = naming;
  if (isNamedByContent(role)) {
    // What is to be operated in a heading or an alert has its own line.
    const isText = /^(alert|heading|status|columnheader|rowheader|caption|tooltip)$/.test(role);
    const content = isText && page.all(element, operableCss()).length > 0 ? '' : contentText(naming, element, role);
    if (content !== '') return { name: content, isContent: true, isGuess: false };
  }
  const title = shortText(
    page.attribute(element, 'title') ?? page.attribute(element, 'aria-placeholder') ?? page.attribute(element, 'placeholder') ?? '',
  );
  if (title !== '') return { name: title, isContent: false, isGuess: false };
  const guess = /^(button|link|menuitem|tab|img|switch|checkbox)$/.test(role) ? iconName(page, element) : '';
  return { name: guess, isContent: false, isGuess: guess !== '' };
}

export function labelledName(naming: Naming, element: Element): string {
  const { page } = naming;
  const ids = page.attribute(element, 'aria-labelledby');
  if (ids !== null) {
    const root = page.rootOf(element);
    const texts = ids
      .slice(0, 500)
      .split(/\s+/)
      .slice(0, 8)
      .map((id) => (id === '' ? null : page.byId(root, id)))
      .map((label) => (label === null ? '' : labelText(naming, label)));
    const text = shortText(texts.join(' '));
    if (text !== '') return text;
  }
  return shortText(page.attribute(element, 'aria-label') ?? '');
}

export function labelText(naming: Naming, label: Element): string {
  return shortText(naming.page.attribute(label, 'aria-label') ?? '') || contentText(naming, label, '');
}

export function nativeName(naming: Naming, element: Element): string {
  const { page } = naming;
  const tag = page.name(element);
  if (tag === 'input' || tag === 'select' || tag === 'textarea' || tag === 'meter' || tag === 'progress') {
    const label = labelsIn(naming, page.rootOf(element)).get(element);
    const text = label ? contentText(naming, label, 'label') : '';
    if (text !== '') return text;
    if (tag !== 'input') return '';
    const type = page.inputType(element);
    if (/^(button|submit|reset)$/.test(type))
      return shortText(page.inputValue(element)) || { submit: 'Submit', reset: 'Reset' }[type] || '';
    return type === 'image' ? shortText(page.attribute(element, 'alt') ?? '') : '';
  }
  if (tag === 'img' || tag === 'area') return shortText(page.attribute(element, 'alt') ?? '');
  if (tag === 'optgroup') return shortText(page.attribute(element, 'label') ?? '');
  const partName = { fieldset: 'legend', figure: 'figcaption', table: 'caption', svg: 'title' }[tag];
  if (partName === undefined) return '';
  for (let child = page.firstChild(element); child; child = page.next(child))
    if (child instanceof Element && page.name(child) === partName) return contentText(naming, child, '');
  return '';
}

/** The labels of all fields of a tree: asking each field for its labels walks the tree each time. */
export function labelsIn(naming: Naming, root: Node): Map<Element, Element> {
  const known = naming.labels.get(root);
  if (known) return known;
  const { page } = naming;
  const labels = new Map<Element, Element>();
  for (const label of page.all(root, 'label')) {
    const control = page.control(label);
    if (control && !labels.has(control)) labels.set(control, label);
  }
  naming.labels.set(root, labels);
  return labels;
}

/** Without control characters and those that change the direction of a text, at most 160 characters. */
export function shortText(text: string): string {
  // Most texts are a few words of Latin letters, which nothing of the rest would change.
  if (text.length <= 160 && /^[!-~\u00c0-\u024f]+(?: [!-~\u00c0-\u024f]+)*$/.test(text)) return text;
  const cut = text.length > 2000 ? text.slice(0, 2000) : text;
  const line = oneLine(
    cut.replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, (each) => (/\s/.test(each) ? ' ' : /[\u200c\u200d]/.test(each) ? each : '')),
  );
  return line.length > 160 || text.length > cut.length ? `${line.slice(0, 159).replace(/[\ud800-\udbff]$/, '')}…` : line;
}

/** The text that an element shows, of at most 400 nodes. */
export function contentText(naming: Naming, element: Element, role: string): string {
  const { page } = naming;
  const parts: string[] = [];
  let chars = 0;
  let nodes = 0;
  const waiting: (Node | string)[] = [element];
  for (let node = waiting.pop(); node !== undefined && chars < 400 && nodes < 400; node = waiting.pop()) {
    nodes += 1;
    if (typeof node === 'string') parts.push(node);
    else if (page.type(node) === 3) {
      const text = (page.nodeValue(node) ?? '').slice(0, 2000);
      parts.push(text);
      chars += oneLine(text).length;
    } else if (node instanceof Element) {
      const part = node === element ? null : partText(naming, node, role);
      if (typeof part === 'string') parts.push(part);
      else {
        if (part?.isBlock) waiting.push(' ');
        if (part?.isBlock) parts.push(' ');
        for (const child of flatChildren(naming, node, 400 - nodes).toReversed()) waiting.push(child);
      }
    }
  }
  return shortText(parts.join(''));
}

/** The text of an element in a name, or that it is read further. */
export function partText(naming: Naming, element: Element, role: string): string | { isBlock: boolean } {
  const { page } = naming;
  const tag = page.name(element);
  if (/^(script|style|noscript|template|head|select|textarea|datalist|iframe|object)$/.test(tag)) return '';
  if (page.attribute(element, 'aria-hidden') === 'true') return '';
  if (role === 'treeitem' && (/^(ul|ol)$/.test(tag) || page.attribute(element, 'role') === 'group')) return '';
  const { display, visibility } = getComputedStyle(element);
  if (display === 'none' || visibility !== 'visible') return '';
  if (tag === 'br') return ' ';
  const label = page.attribute(element, 'aria-label');
  if (label !== null && label.trim() !== '') return ` ${label.slice(0, 200)} `;
  if (tag === 'img') return ` ${(page.attribute(element, 'alt') ?? '').slice(0, 200)} `;
  if (tag === 'svg') return ` ${nativeName(naming, element)} `;
  if (tag === 'input') return '';
  return { isBlock: display !== 'inline' && display !== 'contents' };
}

/** The children in the flat tree: those of a shadow tree in place of its host's, and what is slotted in place of a slot's. At most `max`. */
export function flatChildren(naming: Naming, node: Node, max: number): Node[] {
  const { page } = naming;
  const shadow = node instanceof Element ? (page.shadowRoot(node) ?? naming.closedRoots.get(node)) : null;
  if (!shadow && node instanceof HTMLSlotElement) {
    const assigned = HTMLSlotElement.prototype.assignedNodes.call(node);
    if (assigned.length > 0) return assigned.slice(0, max);
  }
  const children: Node[] = [];
  for (let child = page.firstChild(shadow ?? node); child && children.length < max; child = page.next(child)) children.push(child);
  return children;
}

/** What the icon of an element without a name is called by its author: `shopping cart` of `<i class="fa fa-shopping-cart">`. */
export function iconName(page: Natives, element: Element): string {
  for (const icon of [element, ...page.all(element, 'use, svg, i, span, img').slice(0, 10)]) {
    const data = page.attribute(icon, 'data-icon') ?? page.attribute(icon, 'data-lucide') ?? page.attribute(icon, 'icon');
    const use = page.name(icon) === 'use' ? (page.attribute(icon, 'href') ?? page.attribute(icon, 'xlink:href')) : null;
    const source = page.name(icon) === 'img' ? (page.attribute(icon, 'src') ?? '').slice(0, 500).replace(/[?#].*$/, '') : '';
    const file = /([\w-]{2,60})\.\w{2,5}$/.exec(source)?.[1];
    const classes = (page.attribute(icon, 'class') ?? '').slice(0, 300).split(/\s+/);
    const byClass = classes.map(
      (each) => /^(?:fa|bi|icon|icons|mdi|ti|ri|lucide|glyphicon|octicon|feather|oi)-([a-z][\w-]{1,40})$/i.exec(each)?.[1],
    );
    const name = data ?? use?.slice(use.indexOf('#') + 1) ?? byClass.find((each) => each !== undefined) ?? file ?? '';
    const words = name
      .slice(0, 60)
      .replace(/^(?:fa|bi|icon|icons|mdi|ti|ri)[-_]/i, '')
      .replace(/[-_]+/g, ' ');
    if (/[a-z]{2}/i.test(words)) return shortText(words).toLowerCase();
  }
  return '';
}

/** The states that are set. */
export function statesOf(naming: Naming, element: Element, role: string): Record<string, string> {
  const { page } = naming;
  const states: Record<string, string> = {};
  const aria = (name: string): string | null => page.attribute(element, `aria-${name}`)?.toLowerCase().slice(0, 20) ?? null;
  const isInput = element instanceof HTMLInputElement;
  const isBox = isInput && /^(checkbox|radio)$/.test(page.inputType(element));
  const checked = isBox
    ? page.matches(element, ':indeterminate') && role === 'checkbox'
      ? 'mixed'
      : String(page.checked(element))
    : aria('checked');
  if (checked === 'true' || checked === 'mixed') states['checked'] = checked;
  if (aria('disabled') === 'true' || page.matches(element, ':disabled')) states['disabled'] = 'true';
  const isOpen = page.name(element) === 'summary' ? page.matches(element, 'details[open] > summary') : null;
  const expanded = isOpen === null ? aria('expanded') : String(isOpen);
  if (expanded === 'true') states['expanded'] = 'true';
  if (expanded === 'false') states['collapsed'] = 'true';
  if (aria('selected') === 'true') states['selected'] = 'true';
  const pressed = aria('pressed');
  if (pressed === 'true' || pressed === 'mixed') states['pressed'] = pressed;
  const current = aria('current');
  if (current !== null && current !== 'false' && current !== '') states['current'] = 'true';
  if (role === 'heading')
    states['level'] = /^[1-9]$/.test(aria('level') ?? '') ? String(aria('level')) : (/^h([1-6])$/.exec(page.name(element))?.[1] ?? '2');
  if (isField(role)) Object.assign(states, fieldStates(naming, element));
  return states;
}

export function isField(role: string): boolean {
  return /^(textbox|searchbox|combobox|listbox|spinbutton|slider|checkbox|radio|switch)$/.test(role);
}

export function fieldStates({ page }: Naming, element: Element): Record<string, string> {
  const states: Record<string, string> = {};
  const attribute = (name: string): string | null => page.attribute(element, name);
  if (attribute('aria-required') === 'true' || page.matches(element, ':required')) states['required'] = 'true';
  const invalid = attribute('aria-invalid');
  if ((invalid !== null && invalid !== 'false' && invalid !== '') || page.matches(element, ':user-invalid')) states['invalid'] = 'true';
  if (attribute('aria-readonly') === 'true' || (page.matches(element, 'input, textarea') && attribute('readonly') !== null))
    states['readonly'] = 'true';
  return states;
}

/** The value that a field shows. Those of passwords, one-time codes and card checks never leave the page: such a field is `filled`. */
export function valueOf(naming: Naming, element: Element, role: string): { value: string; isSecret: boolean } {
  const { page } = naming;
  const plain = (value: string): { value: string; isSecret: boolean } => ({ value: shortText(value), isSecret: false });
  if (element instanceof HTMLInputElement || element instanceof HTMLTextAreaElement) {
    const value = element instanceof HTMLInputElement ? page.inputValue(element) : page.areaValue(element);
    if (element instanceof HTMLInputElement && !/^(textbox|searchbox|combobox|spinbutton|slider)$/.test(inputRole(page, element)))
      return plain('');
    return isSecretField(page, element) ? { value: '', isSecret: value !== '' } : plain(value);
  }
  if (element instanceof HTMLSelectElement) {
    const chosen = page.all(element, 'option:checked').slice(0, 20);
    return plain(chosen.map((option) => optionText(page, option)).join(', '));
  }
  if (/^(slider|spinbutton|progressbar|meter|scrollbar)$/.test(role))
    return plain(
      page.attribute(element, 'aria-valuetext') ?? page.attribute(element, 'aria-valuenow') ?? page.attribute(element, 'value') ?? '',
    );
  if (!/^(textbox|searchbox|combobox)$/.test(role)) return plain('');
  const text = contentText(naming, element, '');
  return isSecretField(page, element) ? { value: '', isSecret: text !== '' } : plain(text);
}

export function optionText(page: Natives, option: Element): string {
  return shortText(page.attribute(option, 'label') ?? page.textContent(option) ?? '');
}

export function isSecretField(page: Natives, element: Element): boolean {
  if (element instanceof HTMLInputElement && page.inputType(element) === 'password') return true;
  // One-time codes are often a row of fields of one character.
  if (page.attribute(element, 'maxlength') === '1') return true;
  const style = getComputedStyle(element) as CSSStyleDeclaration & { webkitTextSecurity?: string };
  if ((style.webkitTextSecurity ?? 'none') !== 'none') return true;
  const said = ['autocomplete', 'name', 'id', 'aria-label', 'placeholder']
    .map((name) => (page.attribute(element, name) ?? '').slice(0, 200))
    .join(' ');
  return /passw|passphrase|pwd|one.?time|\botp|otp\b|totp|2fa|mfa|(?:verification|security|auth\w*|sms|login).?code|cc-csc|\bcvc|\bcvv|\bcsc\b|\bpin\b/i.test(
    said,
  );
}
