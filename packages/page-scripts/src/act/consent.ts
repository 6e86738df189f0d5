/** Finds cookie banners and their buttons. Sent as text, together with `natives.ts`, `words.ts` and `css-paths.ts`. */
import { selectorChainOf } from '../locate/css-paths.ts';
import { elementsIn, isVisible, natives, parentOf, type Natives } from '../locate/natives.ts';
import { labelsOf, normalizeWords, saysDisabled } from '../read/words.ts';

/** Normalized words; `consent-words.ts` of the package `flows` has their meanings. */
export interface ConsentWords {
  paid: string[];
  reject: string[];
  acceptAll: string[];
  save: string[];
  settings: string[];
  accept: string[];
  about: string[];
  aboutPrivacy: string[];
}

export type ConsentKind = 'accept' | 'reject' | 'settings' | 'save';

/** A consent tool, by CSS selectors of its public markup. */
export interface ConsentTool extends Partial<Record<ConsentKind, string>> {
  vendor: string;
  present: string;
}

export interface ConsentSearch {
  words: ConsentWords;
  tools: ConsentTool[];
  /** A frame may be nothing but a banner. */
  isInFrame: boolean;
}

interface Meaning {
  kind: ConsentKind;
  /** It says `all`, and not only `OK`. */
  isForAll: boolean;
}

export interface ConsentControl extends Meaning {
  label: string;
  /** The consent tool, or `generic`. */
  vendor: string;
  selector: string[];
  /** Something is in front of it. */
  isCovered: boolean;
  /** The banner has switches. */
  hasSwitches: boolean;
}

interface Banner {
  element: Element;
  vendor: string;
  /** Its names say what it is, so that it needs no button that accepts or refuses. */
  isSure: boolean;
}

interface Placed {
  control: Element;
  banner: Element;
}

interface ConsentState {
  controls: Placed[];
  /** The control that was pressed last. */
  pressed: Placed | null;
}

/** The buttons of all banners that the document shows, in document order. `closed`: its closed shadow roots. */
export function findConsent(search: ConsentSearch, ...closed: ShadowRoot[]): ConsentControl[] {
  const page = natives();
  const meaningOf = meaningReader(search.words);
  const bannerOf = bannerFinder(page, search);
  const matches: (ConsentControl & Placed & { isSure: boolean })[] = [];
  for (const control of [document, ...closed].flatMap((root) => consentButtons(page, root, meaningOf))) {
    const labels = labelsOf(page, control);
    const label = labels.find((each) => meaningOf(each)) ?? labels[0] ?? '';
    const byTool = meaningByTool(page, control, search.tools);
    const meaning = byTool ?? meaningOf(label);
    if (!meaning || !isSeen(page, control) || saysDisabled(page, control)) continue;
    const banner = bannerOf(control, label);
    if (!banner) continue;
    const { element, vendor, isSure } = banner;
    const about = {
      selector: selectorChainOf(control),
      isCovered: isCovered(page, control),
      hasSwitches: switchesIn(page, element).length > 0,
    };
    matches.push({ ...meaning, label: label.slice(0, 80), vendor, ...about, control, banner: element, isSure });
  }
  const isAnswer = ({ kind }: ConsentControl): boolean => kind === 'accept' || kind === 'reject';
  const sure = matches.filter((each) => each.isSure || matches.some((other) => other.banner === each.banner && isAnswer(other)));
  consentState().controls = sure;
  return sure.map(({ control: _control, banner: _banner, isSure: _isSure, ...shown }) => shown);
}

/** The selector of a frame element; null where it is not shown. */
export function selectorOfShown(element: Element): string[] | null {
  return isSeen(natives(), element) ? selectorChainOf(element) : null;
}

export function consentState(): ConsentState {
  const scope = globalThis as { berthConsent?: ConsentState };
  scope.berthConsent ??= { controls: [], pressed: null };
  return scope.berthConsent;
}

/** Says what a button does by its label. Labels that pay or refuse have words of acceptance too; those that save, `settings`. */
export function meaningReader(words: ConsentWords): (label: string) => Meaning | null {
  const order = ['paid', 'reject', 'acceptAll', 'save', 'settings', 'accept'] as const;
  const matchers = order.map((name) => [name, phraseMatcher(words[name])] as const);
  return (label) => {
    const text = normalizeWords(label);
    // A sentence is no label.
    if (text === '' || text.length > 80 || text.split(' ').length > 10) return null;
    const [name] = matchers.find(([, matches]) => matches(text)) ?? [];
    if (name === undefined || name === 'paid') return null;
    return { kind: name === 'acceptAll' ? 'accept' : name, isForAll: name === 'acceptAll' || name === 'reject' };
  };
}

/** Whole words, except in scripts that do not separate them or that add letters to them. */
export function phraseMatcher(phrases: readonly string[]): (text: string) => boolean {
  const isJoined = (phrase: string): boolean =>
    /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Arabic}\p{Script=Hebrew}]/u.test(
      phrase,
    );
  const joined = phrases.filter(isJoined);
  const byFirst = Map.groupBy(
    phrases.filter((phrase) => !isJoined(phrase)).map((phrase) => phrase.split(' ')),
    ([first]) => first,
  );
  return (text) => {
    const tokens = text.split(' ');
    const startsAt = (at: number): boolean =>
      byFirst.get(tokens[at])?.some((phrase) => phrase.every((word, index) => tokens[at + index] === word)) === true;
    return joined.some((phrase) => text.includes(phrase)) || tokens.some((_, at) => startsAt(at));
  };
}

export function meaningByTool(page: Natives, control: Element, tools: readonly ConsentTool[]): Meaning | null {
  for (const tool of tools)
    for (const kind of ['reject', 'accept', 'save', 'settings'] as const)
      if (tool[kind] !== undefined && page.matches(control, tool[kind])) return { kind, isForAll: true };
  return null;
}

/** The elements of a tree, in document order. A page that has more has its banner among them, or it is not found. */
export function firstElements(page: Natives, root: Node): Element[] {
  const elements: Element[] = [];
  for (const element of elementsIn(page, root)) if (elements.push(element) >= 50_000) break;
  return elements;
}

/** The elements that a visitor can press in a tree, without those that only hold such elements. */
export function consentButtons(page: Natives, root: Node, meaningOf: (label: string) => Meaning | null): Element[] {
  const css =
    'a, button, summary, input[type="button"], input[type="submit"], [role="button"], [role="link"], [onclick], [tabindex="0"], [class*="btn" i], [class*="button" i]';
  const buttons = new Set<Element>();
  for (const element of firstElements(page, root)) {
    if (page.matches(element, css) || /-(?:button|btn)$/.test(page.name(element))) buttons.add(element);
    else if (page.name(element) !== 'label' && isMeantByText(page, element, meaningOf)) buttons.add(element);
  }
  for (const button of [...buttons])
    for (let at = parentOf(page, button); at; at = parentOf(page, at)) {
      // The outermost of what is one button by its markup, such as a link in a list item, is not the button.
      if (!buttons.has(at) || page.matches(at, 'a, button, [role="button"]')) continue;
      buttons.delete(at);
    }
  return [...buttons].filter((button) => !isInside(page, button, buttons));
}

/** A `<span>` in a `<button>` is pressed as the button. */
export function isInside(page: Natives, button: Element, buttons: ReadonlySet<Element>): boolean {
  for (let at = parentOf(page, button); at; at = parentOf(page, at)) if (buttons.has(at)) return true;
  return false;
}

/** Elements that only a script makes buttons, and that the mouse shows as such. */
export function isMeantByText(page: Natives, element: Element, meaningOf: (label: string) => Meaning | null): boolean {
  const child = page.firstChild(element);
  if (!child || page.type(child) !== 3 || page.next(child)) return false;
  const text = page.nodeValue(child) ?? '';
  return text.length <= 80 && meaningOf(text) !== null && getComputedStyle(element).cursor === 'pointer';
}

/** Whether it is shown, and not moved out of the window with what holds it in place. */
export function isSeen(page: Natives, element: Element): boolean {
  const isOpaque = Element.prototype.checkVisibility.call(element, { opacityProperty: true, visibilityProperty: true });
  if (!isOpaque || !isVisible(page, element)) return false;
  for (let at: Element | null = element; at; at = parentOf(page, at)) {
    if (getComputedStyle(at).position !== 'fixed') continue;
    const { left, right, top, bottom } = page.rect(at);
    const own = page.rect(element);
    const isAway = right <= 0 || bottom <= 0 || left >= innerWidth || top >= innerHeight;
    // What is fixed may have no size, and its content some.
    return !isAway || (own.right > 0 && own.bottom > 0 && own.left < innerWidth && own.top < innerHeight);
  }
  return true;
}

export function isCovered(page: Natives, element: Element): boolean {
  const { left, top, width, height } = page.rect(element);
  const [x, y] = [left + width / 2, top + height / 2];
  if (x < 0 || y < 0 || x >= innerWidth || y >= innerHeight) return false;
  const root = page.rootOf(element);
  const hit = root instanceof ShadowRoot ? root.elementFromPoint(x, y) : Document.prototype.elementFromPoint.call(document, x, y);
  for (let at = hit; at; at = parentOf(page, at)) if (at === element) return false;
  return hit !== null;
}

/** Finds the banner of a button: a consent tool, or what says by its place, its names or its words that it is one. */
export function bannerFinder(
  page: Natives,
  { words, tools, isInFrame }: ConsentSearch,
): (control: Element, label: string) => Banner | null {
  const known = new Map<Element, string>();
  const textOf = (element: Element): string => {
    const text = known.get(element) ?? normalizedTextOf(page, element);
    known.set(element, text);
    return text;
  };
  const pressed = consentState().pressed?.banner;
  return (control, label) => {
    const around = bannerCandidates(page, control, isInFrame);
    for (const { vendor, present } of tools) {
      const element = around.find((each) => page.matches(each, present));
      if (element) return { element, vendor, isSure: true };
    }
    const isOverlaid = around.some((each) => isOverlay(page, each));
    for (const element of around) {
      if (hasAddressField(page, element)) return null;
      const strength = element === pressed ? 3 : strengthOf(page, element, { isOverlaid, isInFrame });
      // By more than its own label: a button that leads back to the choices stands alone.
      const text = ` ${textOf(element)} `.replace(` ${normalizeWords(label)} `, ' ');
      if (strength === 0 || (element !== pressed && !isAboutConsent(text, words, strength))) continue;
      return { element, vendor: 'generic', isSure: element === pressed || around.some((each) => isNamedConsent(page, each)) };
    }
    return null;
  };
}

/** The elements around a button up to the body, which itself may be the banner of a frame. */
export function bannerCandidates(page: Natives, control: Element, isInFrame: boolean): Element[] {
  const around: Element[] = [];
  for (let at = parentOf(page, control); at && around.length < 30; at = parentOf(page, at)) {
    const name = page.name(at);
    if (name === 'html' || (name === 'body' && !isInFrame)) break;
    around.push(at);
  }
  return around;
}

export function isOverlay(page: Natives, element: Element): boolean {
  return isDialog(page, element) || /fixed|sticky/.test(getComputedStyle(element).position);
}

export function isDialog(page: Natives, element: Element): boolean {
  return page.matches(element, 'dialog[open], [role="dialog"], [role="alertdialog"], [aria-modal="true"]');
}

export function isNamedConsent(page: Natives, element: Element): boolean {
  const names = ['id', 'class', 'aria-label', 'data-testid', 'data-nosnippet', 'title'].map((name) => page.attribute(element, name) ?? '');
  return /cookie|consent|gdpr|rgpd|dsgvo|lgpd|ccpa|(?:^|[\s_-])cmp(?:$|[\s_-])|privacy[\s_-]?(?:banner|notice|popup|modal|manager|center|overlay|bar|wall)/i.test(
    `${page.name(element)} ${names.join(' ').slice(0, 2000)}`,
  );
}

/** How much speaks for a banner before its words, from 3 for its names to 0 for nothing. */
export function strengthOf(
  page: Natives,
  element: Element,
  { isOverlaid, isInFrame }: { isOverlaid: boolean; isInFrame: boolean },
): number {
  if (isNamedConsent(page, element) || isDialog(page, element)) return 3;
  if (isOverlaid || (isInFrame && page.name(element) === 'body')) return 2;
  const isContent =
    page.matches(element, 'main, article, footer, nav, form, ul, ol, li, p, td, table') || page.matches(element, 'footer *');
  return isContent ? 0 : 1;
}

/** One word of cookies is enough, or two of privacy. Without a place of its own, a banner is short. */
export function isAboutConsent(text: string, { about, aboutPrivacy }: ConsentWords, strength: number): boolean {
  if (text.length > ([0, 1500, 5000, 20_000][strength] ?? 0)) return false;
  if (about.some((word) => text.includes(word))) return true;
  if (strength < 2) return false;
  const named = aboutPrivacy.filter((word) => text.includes(word));
  // `partner` and `partners` are one.
  return named.filter((word) => !named.some((other) => other !== word && other.includes(word))).length >= 2;
}

/** A newsletter and a login ask for an address or a password. */
export function hasAddressField(page: Natives, element: Element): boolean {
  const css =
    'input[type="email"], input[type="password"], input[type="tel"], input[name*="mail" i], input[autocomplete*="email" i], textarea';
  return page.all(element, css).some((field) => isVisible(page, field));
}

/** The normalized text of an element, shadow trees included; a longer text is cut after its beginning. */
export function normalizedTextOf(page: Natives, element: Element): string {
  const texts: string[] = [];
  let chars = 0;
  const waiting: Node[] = [element];
  for (let node = waiting.pop(); node && chars < 20_001; node = waiting.pop()) {
    if (page.type(node) === 3) {
      const text = page.nodeValue(node) ?? '';
      texts.push(text.slice(0, 20_001));
      chars += text.length;
      continue;
    }
    if (node instanceof Element && /^(?:script|style|template|noscript)$/.test(page.name(node))) continue;
    for (let child = page.lastChild(node); child; child = page.previous(child)) waiting.push(child);
    const shadow = node instanceof Element ? page.shadowRoot(node) : null;
    if (shadow) waiting.push(shadow);
  }
  // In parts, because a label of more characters is cut.
  return texts
    .flatMap((text) => text.match(/[^]{1,300}/g) ?? [])
    .map((text) => normalizeWords(text))
    .join(' ');
}

/** Elements that may hold a closed shadow root: nothing else is in them. The likely ones first. `isInner`: only of the given roots. */
export function possibleHosts(max: number, isInner: boolean, ...closed: ShadowRoot[]): Element[] {
  const page = natives();
  const hosts: Element[][] = [[], [], []];
  for (const element of (isInner ? closed : [document]).flatMap((root) => firstElements(page, root))) {
    const name = page.name(element);
    const isCustom = name.includes('-');
    if (!isCustom && !/^(?:article|aside|blockquote|div|footer|header|main|nav|p|section|span)$/.test(name)) continue;
    if (page.shadowRoot(element) || (!isCustom && page.firstChild(element))) continue;
    const parent = page.parent(element);
    const isOutermost = parent === page.body(document) || parent === page.root(document) || parent instanceof ShadowRoot;
    hosts[isNamedConsent(page, element) ? 0 : isCustom || isOutermost ? 1 : 2]?.push(element);
  }
  return hosts.flat().slice(0, max);
}

/** Remembers which of the found controls is pressed. */
export function rememberPressed(index: number): void {
  const state = consentState();
  state.pressed = state.controls[index] ?? null;
}

/** Whether the control that was pressed is still shown. */
export function isPressedShown(): boolean {
  const { pressed } = consentState();
  return pressed !== null && isSeen(natives(), pressed.control);
}

/** Switches that are on and can be turned off: those that are shown, by selector, and the number of the others. */
export function listSwitches(index: number): { shown: string[][]; hidden: number } {
  const page = natives();
  const banner = consentState().controls[index]?.banner;
  const on = banner ? switchesIn(page, banner).filter((each) => isSwitchedOn(page, each)) : [];
  const shown = on.filter((each) => isVisible(page, each) || labelsShown(page, each));
  return { shown: shown.slice(0, 30).map((each) => selectorChainOf(each)), hidden: on.length - Math.min(30, shown.length) };
}

export function switchesIn(page: Natives, banner: Element): Element[] {
  const css = 'input[type="checkbox"]:enabled, [role="switch"], [role="checkbox"]';
  const switches: Element[] = [];
  for (const element of elementsIn(page, banner)) {
    if (page.matches(element, css) && !saysDisabled(page, element)) switches.push(element);
    if (switches.length >= 200) break;
  }
  return switches;
}

export function isSwitchedOn(page: Natives, element: Element): boolean {
  return element instanceof HTMLInputElement ? page.checked(element) : page.attribute(element, 'aria-checked') === 'true';
}

export function labelsShown(page: Natives, element: Element): boolean {
  const labels = element instanceof HTMLInputElement ? [...(page.inputLabels(element) ?? [])] : [];
  return labels.some((label) => label instanceof Element && isVisible(page, label));
}
