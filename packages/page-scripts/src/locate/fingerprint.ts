/** Describes elements, and finds a described one in a page that has changed. Sent as text, together with `natives.ts` and `find.ts`. */
import { textOf } from './find.ts';
import { elementsIn, isVisible, natives, oneLine, parentOf, type Natives } from './natives.ts';

/** The features by which a person would recognise an element. Texts are short, and have no values: see `wordsOf`. */
export interface Fingerprint {
  tag: string;
  /** The purpose of the element. Only elements of the same kind are compared; links are of the kind `button`. */
  kind: 'button' | 'text' | 'password' | 'select' | 'check' | 'file' | 'other';
  role: string;
  name: string;
  attributes: Record<string, string>;
  classes: string[];
  /** The text of the nearest heading, legend or caption. */
  context: string;
  /** Tags of its ancestors, the nearest first. */
  path: string[];
  /** Its centre: share of the document's width, and of its height. */
  x: number;
  y: number;
  /** Visible elements of the page with the same role and name. */
  alike: number;
}

export interface Similar {
  /** 4: role and name. 5: attributes. 6: similar text. 7: the whole fingerprint. */
  level: 4 | 5 | 6 | 7;
  /** 0 to 1. */
  score: number;
  fingerprint: Fingerprint;
}

interface Candidate {
  element: Element;
  fingerprint: Fingerprint;
  score: number;
}

/** `msMax`: time for the elements that are alike. */
export function fingerprint(element: Element, msMax: number): Fingerprint {
  const page = natives();
  const texts = new Map<Node, string>();
  const own = fingerprintOf(page, element, texts);
  const endMs = performance.now() + msMax;
  for (const other of elementsIn(page, document)) {
    if (other === element || roleOf(page, other) !== own.role) continue;
    // In a huge page there may be others.
    if (performance.now() > endMs) return { ...own, alike: Math.max(1, own.alike) };
    if (nameOf(page, other, texts) === own.name && isVisible(page, other)) own.alike += 1;
  }
  return own;
}

/** Finds the element that a fingerprint describes, and stores it for `takeMatches`. Null where no one element stands out, and in a page too large for `msMax`. */
export function findSimilar(root: Element | null, known: Fingerprint, msMax: number): Similar | null {
  const page = natives();
  const texts = new Map<Node, string>();
  const candidates: Candidate[] = [];
  // Elements that are no controls are many.
  const othersMax = 3000;
  let others = 0;
  const endMs = performance.now() + msMax;
  for (const element of elementsIn(page, root ?? document)) {
    if (kindOf(page, element) !== known.kind) continue;
    if (known.kind === 'other' && (page.name(element) !== known.tag || (others += 1) > othersMax)) continue;
    // Among some of the elements, one would stand out by chance.
    if (performance.now() > endMs) return null;
    if (!isVisible(page, element)) continue;
    const other = fingerprintOf(page, element, texts);
    candidates.push({ element, fingerprint: other, score: similarity(known, other) });
  }
  const match = standOut(known, candidates);
  if (!match) return null;
  Object.assign(globalThis, { berthMatches: [match.candidate.element] });
  const { element, score, fingerprint: current } = match.candidate;
  const alike = candidates.filter(
    ({ element: other, fingerprint: { role, name } }) => other !== element && role === current.role && name === current.name,
  );
  return { level: match.level, score, fingerprint: { ...current, alike: alike.length } };
}

export function standOut(known: Fingerprint, candidates: Candidate[]): { level: Similar['level']; candidate: Candidate } | null {
  candidates.sort((one, other) => other.score - one.score);
  const isNamed = !hasValue(known.name);
  const named =
    isNamed && known.name.length > 1 && known.kind !== 'other'
      ? candidates.filter(({ fingerprint: { role, name } }) => role === known.role && name === known.name)
      : [];
  const placed =
    known.alike > 0 || named.length > 1
      ? named.filter((candidate) => textSimilarity(known.context, candidate.fingerprint.context) > 0.85)
      : named;
  const [byName] = placed;
  if (byName && placed.length === 1) return { level: 4, candidate: byName };
  const alike = candidates.filter((candidate) => hasSameAttributes(known, candidate.fingerprint));
  const [byAttributes] = alike;
  if (byAttributes && alike.length === 1 && known.alike === 0) return { level: 5, candidate: byAttributes };
  const similar = candidates.filter(
    ({ fingerprint: { role, name } }) =>
      isNamed && role === known.role && known.kind !== 'other' && textSimilarity(known.name, name) >= 0.85,
  );
  const [byText] = similar;
  if (byText && similar.length === 1 && known.alike === 0 && known.name.length > 3) return { level: 6, candidate: byText };
  const [best, second] = candidates;
  if (best && best.score >= 0.6 && best.score - (second?.score ?? 0) >= 0.15) return { level: 7, candidate: best };
  return null;
}

/** Whether identifying attributes agree and no attribute speaks against it. */
export function hasSameAttributes(known: Fingerprint, other: Fingerprint): boolean {
  let agreeing = 0;
  for (const [name, value] of Object.entries(known.attributes)) {
    const current = other.attributes[name];
    if (hasValue(value)) continue;
    const isIdentity = ['id', 'name', 'testid', 'itemprop'].includes(name);
    if (current === value) agreeing += name === 'href' ? 3 : isIdentity ? 2 : 1;
    else if (current !== undefined && !['id', 'placeholder', 'title', 'alt'].includes(name)) return false;
  }
  const isOnlySubmit = known.attributes['type'] === 'submit' && known.attributes['form'] !== undefined;
  return agreeing >= (isOnlySubmit ? 2 : 3) || (agreeing === 2 && known.kind !== 'button' && known.kind !== 'other');
}

export function similarity(known: Fingerprint, other: Fingerprint): number {
  let sum = 0;
  let whole = 0;
  const add = (weight: number, value: number): void => {
    whole += weight;
    sum += weight * value;
  };
  const isControl = known.kind !== 'other';
  // What an element says changes where it is read, and stays where it is used.
  if (known.name !== '') add(isControl ? 3 : 1, textSimilarity(known.name, other.name));
  for (const [name, value] of Object.entries(known.attributes)) {
    if (hasValue(value)) continue;
    const weight = ['name', 'testid', 'href', 'form', 'itemprop'].includes(name) ? 1.5 : 1;
    add(weight, other.attributes[name] === value ? 1 : 0);
  }
  if (known.classes.length > 0) add(isControl ? 1 : 2, overlap(known.classes, other.classes));
  if (known.context !== '') add(2, textSimilarity(known.context, other.context));
  add(1, overlap(known.path, other.path));
  add(1, Math.max(0, 1 - 2 * Math.hypot(known.x - other.x, known.y - other.y)));
  if (known.tag !== other.tag) add(0.5, 0);
  return whole === 0 ? 0 : sum / whole;
}

/** Shared pairs of letters, without case: 1 is the same, 0 nothing in common. */
export function textSimilarity(one: string, other: string): number {
  const [left, right] = [one.toLowerCase(), other.toLowerCase()];
  if (left === right) return 1;
  if (left.length < 2 || right.length < 2) return 0;
  const pairs = new Map<string, number>();
  for (let i = 0; i + 1 < left.length; i += 1) pairs.set(left.slice(i, i + 2), (pairs.get(left.slice(i, i + 2)) ?? 0) + 1);
  let shared = 0;
  for (let i = 0; i + 1 < right.length; i += 1) {
    const pair = right.slice(i, i + 2);
    const count = pairs.get(pair) ?? 0;
    if (count === 0) continue;
    shared += 1;
    pairs.set(pair, count - 1);
  }
  return (2 * shared) / (left.length + right.length - 2);
}

/** The share of what two lists have in common. */
export function overlap(one: readonly string[], other: readonly string[]): number {
  if (one.length === 0 && other.length === 0) return 1;
  const waiting = [...other];
  let shared = 0;
  for (const each of one) {
    const at = waiting.indexOf(each);
    if (at < 0) continue;
    shared += 1;
    waiting.splice(at, 1);
  }
  return shared / (one.length + other.length - shared);
}

export function fingerprintOf(page: Natives, element: Element, texts: Map<Node, string>): Fingerprint {
  const { left, top, width, height } = page.rect(element);
  const root = page.root(document);
  const whole = root ? page.rect(root) : { left: 0, top: 0, width: 1, height: 1 };
  const path: string[] = [];
  for (let parent = parentOf(page, element); parent && path.length < 12; parent = parentOf(page, parent)) path.push(page.name(parent));
  return {
    tag: page.name(element),
    kind: kindOf(page, element),
    role: roleOf(page, element),
    name: nameOf(page, element, texts),
    attributes: attributesOf(page, element),
    classes: (page.attribute(element, 'class') ?? '')
      .split(/\s+/)
      .filter((token) => token !== '' && isStable(token))
      .slice(0, 12),
    context: contextOf(page, element, texts),
    path,
    x: (left + width / 2 - whole.left) / Math.max(1, whole.width),
    y: (top + height / 2 - whole.top) / Math.max(1, whole.height),
    alike: 0,
  };
}

/**
 * The text with a mark for each value: addresses, numbers of more than three digits, and what mixes letters and digits or
 * has no vowel for long, as codes and tokens do. Values are people's data, and others on the next visit.
 */
export function wordsOf(text: string, charsMax: number): string {
  const isValue = (word: string): boolean =>
    word.length > 40 ||
    word.includes('@') ||
    (word.match(/\d/g)?.length ?? 0) > 3 ||
    (word.length > 7 && /\d/.test(word) && /[a-z].*[A-Z]|[A-Z].*[a-z]/.test(word)) ||
    /[b-df-hj-np-tv-xz]{7}/i.test(word);
  const words = oneLine(text).replace(/[^\s/?&=,;:()[\]]+/g, (word) => (isValue(word) ? '•' : word));
  // Between words, so that no part of one is left that nobody would recognise as a secret.
  return words.length <= charsMax ? words : words.slice(0, charsMax).replace(/\S*$/, '').trim();
}

/** Elements that differ in a value only would be taken for one another. */
export function hasValue(text: string): boolean {
  return text.includes('•');
}

/** Whether a class or id was written by a person: generated ones have digits or a hash. */
export function isStable(token: string): boolean {
  if (token.length > 40 || /\d{3}/.test(token)) return false;
  const parts = token.split(/[-_]+/);
  return !parts.some((part) => part.length >= 5 && /\d/.test(part) && /[a-z]/i.test(part) && !/^[a-z]+\d{1,2}$/i.test(part));
}

export function kindOf(page: Natives, element: Element): Fingerprint['kind'] {
  const role = page.attribute(element, 'role');
  if (role !== null) {
    if (['button', 'link', 'menuitem', 'tab', 'option'].includes(role)) return 'button';
    if (['checkbox', 'radio', 'switch'].includes(role)) return 'check';
    if (['textbox', 'searchbox'].includes(role)) return 'text';
    if (role === 'listbox' || (role === 'combobox' && page.name(element) !== 'input')) return 'select';
  }
  switch (page.name(element)) {
    case 'a':
      return page.attribute(element, 'href') === null ? 'other' : 'button';
    case 'button':
    case 'summary':
      return 'button';
    case 'select':
      return 'select';
    case 'textarea':
      return 'text';
    case 'input': {
      const type = page.inputType(element);
      if (['button', 'submit', 'reset', 'image'].includes(type)) return 'button';
      if (type === 'checkbox' || type === 'radio') return 'check';
      return type === 'file' || type === 'password' ? type : 'text';
    }
    default:
      return element instanceof HTMLElement && page.attribute(element, 'contenteditable') !== null && page.isEditable(element)
        ? 'text'
        : 'other';
  }
}

export function roleOf(page: Natives, element: Element): string {
  const role = page.attribute(element, 'role');
  if (role !== null && role !== '') return role;
  const name = page.name(element);
  if (name === 'input') return `input ${page.inputType(element)}`;
  return name === 'a' ? 'link' : name;
}

/** Near the accessible name: enough to compare a page with itself. */
export function nameOf(page: Natives, element: Element, texts: Map<Node, string>): string {
  const labels = (page.attribute(element, 'aria-labelledby') ?? '').split(/\s+/).filter((id) => id !== '');
  const labelled = labels.map((id) => page.byId(page.rootOf(element), id)).map((label) => (label ? textOf(page, label, texts) : ''));
  const label = labelOfField(page, element);
  const isField = ['text', 'password', 'select', 'check', 'file'].includes(kindOf(page, element));
  const named = [
    labelled.join(' '),
    page.attribute(element, 'aria-label'),
    label ? textOf(page, label, texts) : '',
    isField ? '' : textOf(page, element, texts),
    page.attribute(element, 'alt'),
    page.attribute(element, 'title'),
    page.attribute(element, 'placeholder'),
    imageNameOf(page, element),
  ];
  return wordsOf(named.find((text) => text !== null && oneLine(text) !== '') ?? '', 120);
}

export function imageNameOf(page: Natives, element: Element): string {
  const [image] = page.all(element, 'img[alt], svg[aria-label]');
  return image ? (page.attribute(image, 'alt') ?? page.attribute(image, 'aria-label') ?? '') : '';
}

export function labelOfField(page: Natives, element: Element): Element | null {
  if (!['input', 'select', 'textarea'].includes(page.name(element))) return null;
  const id = page.attribute(element, 'id');
  const root = page.rootOf(element);
  if (id !== null && id !== '') for (const label of page.all(root, 'label[for]')) if (page.attribute(label, 'for') === id) return label;
  for (let parent = parentOf(page, element); parent; parent = parentOf(page, parent)) if (page.name(parent) === 'label') return parent;
  return null;
}

export function attributesOf(page: Natives, element: Element): Record<string, string> {
  const other: Record<string, string> = {};
  for (const name of ['name', 'type', 'autocomplete', 'placeholder', 'title', 'alt', 'for', 'itemprop', 'rel']) {
    const value = page.attribute(element, name);
    const isText = ['placeholder', 'title', 'alt'].includes(name);
    if (value !== null && value !== '') other[name] = isText ? wordsOf(value, 80) : oneLine(value).slice(0, 80);
  }
  const id = page.attribute(element, 'id');
  if (id !== null && id !== '' && isStable(id)) other['id'] = id;
  for (const name of ['data-testid', 'data-test-id', 'data-test', 'data-cy', 'data-qa']) {
    const value = page.attribute(element, name);
    if (value !== null && value !== '') other['testid'] = value.slice(0, 80);
  }
  const href = page.attribute(element, 'href');
  if (href !== null && URL.canParse(href, page.baseUri(element)))
    other['href'] = wordsOf(new URL(href, page.baseUri(element)).pathname, 200);
  if (page.name(element) === 'button' && other['type'] === undefined) other['type'] = 'submit';
  if (other['type'] === 'radio' || other['type'] === 'checkbox') other['value'] = wordsOf(page.attribute(element, 'value') ?? '', 80);
  for (let parent = parentOf(page, element); parent; parent = parentOf(page, parent)) {
    if (page.name(parent) !== 'form') continue;
    const fields = page
      .all(parent, '[name]')
      .slice(0, 8)
      .map((field) => page.attribute(field, 'name'));
    const action = (page.attribute(parent, 'action') ?? '').replace(/[?#].*$/, '');
    other['form'] = wordsOf([action, ...fields].join(' '), 200);
    break;
  }
  return other;
}

/** The text of the nearest heading, legend or caption before it or around it. */
export function contextOf(page: Natives, element: Element, texts: Map<Node, string>): string {
  let from: Element = element;
  for (let depth = 0; depth < 12; depth += 1) {
    const parent = parentOf(page, from);
    if (!parent) return '';
    let heading: Element | null = null;
    for (const each of page.all(parent, 'h1, h2, h3, h4, h5, h6, legend, caption, [role="heading"]').slice(0, 50)) {
      if (each === element) continue;
      // The last one before it, or the first of its container.
      const isBefore = (Node.prototype.compareDocumentPosition.call(each, element) & 4) !== 0;
      if (isBefore || heading === null) heading = each;
    }
    if (heading) return wordsOf(textOf(page, heading, texts), 80);
    from = parent;
  }
  return '';
}
